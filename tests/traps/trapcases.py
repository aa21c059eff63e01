"""For each rule: logs and facts that show it, one for each of its signs, and some that do not."""

from dataclasses import dataclass, field

from auditor.core.facts import Fact, known
from auditor.core.judging.traps import Known

SM120, SM90 = "12.0", "9.0"
VLLM, SGLANG = frozenset({"vllm"}), frozenset({"sglang"})


@dataclass(frozen=True)
class Case:
    """A log and what else is known."""

    log: str = ""
    facts: dict[str, bool | int | str] = field(default_factory=dict)
    engines: frozenset[str] = frozenset({"vllm", "sglang"})
    release: str = "0.19.1"
    capability: str = SM120

    @property
    def known(self) -> Known:
        facts: dict[str, Fact] = {name: known(value, "a test") for name, value in self.facts.items()}
        return Known(facts, self.engines, self.release, self.capability)


ENGINE = "(EngineCore pid=1) INFO [core.py:109] Initializing a V1 LLM engine (v0.20.2) with config: model='x', "
ARGS = "(APIServer pid=1) INFO [utils.py:240] non-default args: {'model': 'x', "
UNKNOWN = "WARNING [envs.py:1908] Unknown vLLM environment variable detected: "
MOE = "INFO [nvfp4.py:217] Using '{}' NvFp4 MoE backend out of potential backends: ['FLASHINFER_CUTLASS', 'MARLIN']."
SERVER_ARGS = "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='x', "
READY = "[2026-01-01 00:00:00] The server is fired up and ready to roll!"
ASSERTION = "RuntimeError: Assertion error (/workspace/.deps/deepgemm-src/csrc/apis/attention.hpp:219): "
ILLEGAL = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
MARLIN = (
    "Your GPU does not have native support for FP4 computation but FP4 quantization is being used. Weight-only FP4"
    " compression will be used leveraging the Marlin kernel. This may degrade performance"
)

SHOWS: dict[str, tuple[Case, ...]] = {
    "forced-acceptance": (
        Case(facts={"acceptance_mode": "synthetic"}, engines=frozenset({"trtllm"})),
        Case(f"{ARGS}'speculative_config': {{'method': 'mtp', 'rejection_sample_method': 'synthetic'}}}}"),
        Case(f"{ARGS}'speculative_config': {{'method': 'mtp', 'synthetic_acceptance_length': 2.5}}}}"),
        Case("SIMULATE_ACC_LEN=3 python -m sglang.launch_server"),
        Case('  "SGLANG_SIMULATE_ACC_LEN": "2.73",'),
        Case("export TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=3"),
        Case("llama-server -m x.gguf --spec-synth-len 3"),
        Case("LLAMA_ARG_SPEC_SYNTH_RATES=0.9,0.8"),
    ),
    "lossy-acceptance": (
        Case(facts={"acceptance_mode": "lossy"}),
        Case(f"{ARGS}'speculative_config': {{'rejection_sample_method': 'fly'}}}}"),
        Case(f"{SERVER_ARGS}speculative_accept_threshold_single=0.9, speculative_accept_threshold_acc=1.0)"),
        Case("speculative_config:\n  decoding_type: MTP\n  use_relaxed_acceptance_for_thinking: true"),
        Case("python quickstart_advanced.py --spec_decode_algo MTP --use_relaxed_acceptance_for_thinking"),
        Case("vllm serve x --spec-decoding-acceptance-method typical_acceptance_sampler"),
    ),
    "unlisted-acceptance-variable": (
        Case(f"{UNKNOWN}VLLM_SPEC_ACCEPT_THRESHOLD_SINGLE"),
        Case("VLLM_SPEC_ACCEPT_THRESHOLD_ACC=0.5 vllm serve x"),
    ),
    "native-cutlass-moe": (
        Case(MOE.format("VLLM_CUTLASS")),
        Case("INFO Using Cutlass for ModelOptNvFp4FusedMoE."),
        Case(facts={"moe_backend": "cutlass", "quantisation": "modelopt_fp4"}),
    ),
    "mimo-nvfp4": (Case(facts={"model": "shadowlilac/MiMo-V2.5-NVFP4", "quantisation": "modelopt_fp4"}),),
    "fp4-gemm-nan": (
        Case(f"{SERVER_ARGS}fp4_gemm_runner_backend='flashinfer_cutlass')", engines=SGLANG, release="0.5.12.post1"),
    ),
    "nan-in-logits": (
        Case("../cuda/AsserterKernel.cu:42: Assertion `NaN detected! sampler: next_token_logits` failed."),
        Case("Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, Corrupted: 2 reqs"),
    ),
    "illegal-memory-in-moe": (Case(f"File fused_moe/layer.py, in forward\n{ILLEGAL}"),),
    "deepgemm-without-sm120": (Case(f"{ASSERTION}Unsupported architecture"),),
    "allreduce-fusion-crash": (
        Case("Exception: Capture cuda graph failed: No supported CUDA architectures found for major versions [9, 10]."),
    ),
    "trtllm-attention-not-on-sm120": (
        Case(
            "tvm.error.InternalError: Error in function 'TllmGenFmhaRunner' at trtllm/fmha/fmhaRunner.cuh:37:"
            " Unsupported architecture"
        ),
    ),
    "flashinfer-sampler": (Case("INFO [topk_topp_sampler.py:45] Using FlashInfer for top-p & top-k sampling."),),
    "flashinfer-needs-newer-cuda": (
        Case("RuntimeError: FlashInfer requires GPUs with sm75 or higher"),
        Case("SM 12.x requires CUDA >= 12.9"),
    ),
    "cutlass-grouped-gemm": (
        Case("[Error] Failed to initialize cutlass TMA WS grouped gemm. Error: Error Internal (x_sm120_M128.cu:60)"),
        Case("[Autotuner]: Skipping tactic <MoERunner> 14, due to failure while profiling: RuntimeError"),
    ),
    "marlin-fp4": (
        Case(MARLIN),
        Case(MOE.format("MARLIN")),
        Case("INFO Using Marlin for ModelOptNvFp4FusedMoE."),
        Case("WARNING Falling back to Marlin FP4 MoE kernel."),
    ),
    "mtp-with-marlin": (
        Case(facts={"speculation_method": "qwen3_next_mtp", "moe_backend": "MARLIN"}),
        Case(facts={"speculation_method": "NEXTN", "moe_backend": "marlin"}, engines=SGLANG),
        Case(MARLIN, facts={"speculation_method": "mtp"}),
    ),
    "expert-parallel-over-pcie": (
        Case(facts={"expert_parallel": 2}),
        Case(f"{ARGS}'enable_expert_parallel': True}}"),
    ),
    "allreduce-fusion-off": (
        Case("WARNING Flashinfer allreduce fusion is not supported for world size 8 or max size is not provided"),
        Case("WARNING [allreduce_rms_fusion.py:1304] AllReduce fusion pass is disabled."),
    ),
    "symmetric-memory-not-on-sm120": (
        Case("WARNING SymmMemCommunicator: Device capability 12.0 not supported, communicator is not available."),
    ),
    "autotune-gate": (
        Case(f"Use flashinfer_cutlass as MoE runner backend on SM120 for modelopt_fp4\n{READY}"),
        Case(READY, facts={"moe_backend": "flashinfer_cutlass"}),
    ),
    "autotune-off": (
        Case(
            f"{ENGINE}kernel_config=KernelConfig(enable_flashinfer_autotune=False)",
            facts={"moe_backend": "FLASHINFER_CUTLASS"},
        ),
    ),
    "no-cuda-graphs": (
        Case(f"{ENGINE}enforce_eager=True"),
        Case(f"{ARGS}'enforce_eager': True}}"),
        Case("WARNING Cudagraph is disabled under eager mode"),
        Case("WARNING Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to -cc.mode=none"),
        Case(f"{SERVER_ARGS}disable_cuda_graph=True)"),
    ),
    "batch-beyond-cuda-graphs": (
        Case("Decode batch, #running-req: 40, #token: 9, token usage: 0.01, cuda graph: False, gen throughput: 9"),
    ),
    "default-moe-config": (Case("WARNING: Using default MoE config. Performance might be sub-optimal!"),),
    "mtp-layer-reused": (
        Case(
            "WARNING Enabling num_speculative_tokens > 1 will run multiple times of forward on same MTP layer,which may"
            " result in lower acceptance rate"
        ),
    ),
    "jit-while-serving": (Case("WARNING Triton kernel JIT compilation during inference: rejection_greedy_sample"),),
    "vllm-moe-force-marlin": (Case(f"{UNKNOWN}VLLM_MOE_FORCE_MARLIN"),),
    "force-marlin-known": (Case(f"docker run -e VLLM_MOE_FORCE_MARLIN=1 vllm\n{ENGINE}"),),
    "unlisted-variable": (Case(f"{UNKNOWN}VLLM_PCIE_ALLREDUCE_BACKEND"),),
    "patched-moe-backend": (
        Case("Using 'MARLIN' NvFp4 MoE backend out of potential backends: ['B12X', 'MARLIN']."),
        Case("Using 'VERDICT_MOE' NvFp4 MoE backend out of potential backends: ['VERDICT_MOE', 'MARLIN']."),
    ),
    "auto-moe-backend": (Case(f"{ARGS}'port': 1}}\n{MOE.format('FLASHINFER_CUTLASS')}"),),
    "scales-of-w1-and-w3-differ": (
        Case("WARNING w1_weight_scale_2 does not match w3_weight_scale_2; using w1/gate scale for fused W13."),
    ),
    "fp8-kv-without-scales": (Case("WARNING Using KV cache scaling factor 1.0 for fp8_e4m3. If this is unintended,"),),
    "forced-sixteen-bit-activations": (Case("B12X_MOE_FORCE_A16=1 changes B12X MoE activation numerics."),),
    "request-cap": (
        Case(facts={"streams_max": 64}),
        Case("max_total_num_tokens=9, max_prefill_tokens=16384, max_running_requests=48, context_len=9"),
        Case(f"{ARGS}'max_num_seqs': 64, 'port': 1}}"),
    ),
    "prefix-cache-on": (
        Case(facts={"prefix_cache": True}, engines=frozenset({"llamacpp"})),
        Case(f"{ENGINE}enable_prefix_caching=True, x"),
        Case(f"{SERVER_ARGS}disable_radix_cache=False)"),
    ),
    "reduced-context": (Case(f"{ARGS}'max_model_len': 8192}}"),),
    "trust-remote-code": (
        Case(f"{ENGINE}trust_remote_code=True, x"),
        Case(f"{ARGS}'trust_remote_code': True}}"),
    ),
    "no-periodic-lines": (
        Case("AsyncLLM created with api_server_count more than 1; disabling stats logging to avoid incomplete stats."),
    ),
}

SHOWS_NOT: dict[str, tuple[Case, ...]] = {
    "forced-acceptance": (
        Case(facts={"acceptance_mode": "standard"}),
        Case('SGLANG_SIMULATE_ACC_LEN=-1\n  "SGLANG_SIMULATE_ACC_LEN": "-1",\nMY_SIMULATE_ACC_LEN=3'),
        Case("SGLANG_SIMULATE_ACC_LEN=0 llama-server --spec-type draft-simple --spec-draft-p-min 0.5"),
        Case(f"{ARGS}'rejection_sample_method': 'standard', 'synthetic_acceptance_rates': None}}"),
        Case("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=0"),
    ),
    "lossy-acceptance": (
        Case(facts={"acceptance_mode": "synthetic"}),
        Case(f"{SERVER_ARGS}speculative_accept_threshold_single=1.0, speculative_accept_threshold_acc=1.0)"),
        Case("use_relaxed_acceptance_for_thinking: false\nspec_decoding_acceptance_method='rejection_sampler'"),
    ),
    "unlisted-acceptance-variable": (
        Case(f"{UNKNOWN}VLLM_CACHE_DIR"),
        Case(f"{UNKNOWN}VLLM_SPEC_ACCEPT_THRESHOLD_SINGLE", engines=SGLANG),
    ),
    "native-cutlass-moe": (
        Case(MOE.format("FLASHINFER_CUTLASS")),
        Case(MOE.format("VLLM_CUTLASS"), capability=SM90),
        Case(facts={"moe_backend": "VLLM_CUTLASS", "quantisation": "fp8"}),
    ),
    "mimo-nvfp4": (
        Case(facts={"model": "MiMo-V2.5", "quantisation": "fp8"}),
        Case(facts={"model": "MiMo-V2.5-NVFP4", "quantisation": "modelopt_fp4"}, capability="10.0"),
    ),
    "fp4-gemm-nan": (
        Case(f"{SERVER_ARGS}fp4_gemm_runner_backend='flashinfer_cudnn')", engines=SGLANG, release="0.5.12"),
        Case(f"{SERVER_ARGS}fp4_gemm_runner_backend='flashinfer_cutlass')", engines=SGLANG, release="0.5.17"),
    ),
    "nan-in-logits": (Case("Running: 1 reqs, Waiting: 0 reqs, Corrupted: 0 reqs, GPU KV cache usage: nan%"),),
    "illegal-memory-in-moe": (Case(ILLEGAL), Case("fused_moe"), Case(f"fused_moe\n{ILLEGAL}", capability=SM90)),
    "deepgemm-without-sm120": (
        Case("INFO [deep_gemm.py:175] deep_gemm not found in site-packages, trying vendored"),
        Case("AssertionError: Unsupported architecture"),
        Case(f"{ASSERTION}Unsupported architecture", capability="8.0"),
    ),
    "allreduce-fusion-crash": (Case("No supported CUDA architectures found for major versions [9]"),),
    "trtllm-attention-not-on-sm120": (Case("TllmGenFmhaRunner is ready"),),
    "flashinfer-sampler": (
        Case("FlashInfer top-p/top-k sampling disabled via VLLM_USE_FLASHINFER_SAMPLER=0."),
        Case("Using FlashInfer for top-p & top-k sampling.", capability=SM90),
    ),
    "flashinfer-needs-newer-cuda": (Case("FlashInfer 0.6.6, CUDA 12.8"),),
    "cutlass-grouped-gemm": (Case("[Autotuner]: Autotuning process starts ...\n[Autotuner]: Autotuning process ends"),),
    "marlin-fp4": (Case(MOE.format("FLASHINFER_CUTLASS")), Case("Using MarlinFP8 kernel")),
    "mtp-with-marlin": (
        Case(facts={"speculation_method": "eagle3", "moe_backend": "MARLIN"}),
        Case(facts={"speculation_method": "mtp", "moe_backend": "FLASHINFER_CUTLASS"}),
        Case(MARLIN),
    ),
    "expert-parallel-over-pcie": (
        Case(facts={"expert_parallel": 1}),
        Case(facts={"expert_parallel": 4}, capability=SM90),
        Case("rank 0 in world size 1 is assigned as DP rank 0, PP rank 0, TP rank 0, EP rank 0"),
    ),
    "allreduce-fusion-off": (Case("INFO Enabled custom fusions: act_quant, allreduce_rms"),),
    "symmetric-memory-not-on-sm120": (Case("SymmMemCommunicator: Device capability 8.9 not supported"),),
    "autotune-gate": (
        Case(f"Running FlashInfer autotune with cache: x\n{READY}", facts={"moe_backend": "flashinfer_cutlass"}),
        Case("a log cut before the server was ready", facts={"moe_backend": "flashinfer_cutlass"}),
        Case(READY, facts={"moe_backend": "flashinfer_trtllm"}),
    ),
    "autotune-off": (
        Case(f"{ENGINE}enable_flashinfer_autotune=False", facts={"moe_backend": "MARLIN"}),
        Case(f"{ENGINE}enable_flashinfer_autotune=True", facts={"moe_backend": "FLASHINFER_CUTLASS"}),
    ),
    "no-cuda-graphs": (Case(f"{ENGINE}enforce_eager=False"), Case(f"{SERVER_ARGS}disable_cuda_graph=False)")),
    "batch-beyond-cuda-graphs": (Case("Decode batch, #running-req: 4, cuda graph: True, gen throughput: 9"),),
    "default-moe-config": (Case("INFO Using configuration from E=512,N=256,device_name=NVIDIA_RTX.json"),),
    "mtp-layer-reused": (Case("speculative_config=SpeculativeConfig(method='mtp', num_spec_tokens=3)"),),
    "jit-while-serving": (Case("INFO Kernel JIT monitor activated, Triton JIT compilations will be logged"),),
    "vllm-moe-force-marlin": (Case(f"{UNKNOWN}VLLM_TEST_FORCE_FP8_MARLIN"),),
    "force-marlin-known": (
        Case(f"-e VLLM_MOE_FORCE_MARLIN=1\n{UNKNOWN}VLLM_MOE_FORCE_MARLIN\n{ENGINE}"),
        Case(f"-e VLLM_MOE_FORCE_MARLIN=1\n{ENGINE}", release="0.17.0"),
        Case("-e VLLM_MOE_FORCE_MARLIN=1, and a log that begins later"),
    ),
    "unlisted-variable": (Case(f"{UNKNOWN}VLLM_MOE_FORCE_MARLIN"), Case("VLLM_CACHE_DIR=/x")),
    "patched-moe-backend": (Case("out of potential backends: ['FLASHINFER_TRTLLM', 'FLASHINFER_B12X', 'B12X']"),),
    "auto-moe-backend": (
        Case(f"{ARGS}'moe_backend': 'marlin'}}\n{MOE.format('MARLIN')}"),
        Case(MOE.format("FLASHINFER_CUTLASS")),
    ),
    "scales-of-w1-and-w3-differ": (Case("w1_weight_scale_2 matches"),),
    "fp8-kv-without-scales": (Case("Using fp8 data type to store kv cache."),),
    "forced-sixteen-bit-activations": (Case("B12X_MOE_FORCE_A16=0"),),
    "request-cap": (
        Case(facts={"streams_max": 65}),
        Case(facts={"streams_max": 2}, engines=frozenset({"llamacpp"})),
        Case("max_running_requests=2048, max_running_requests=65"),
        Case(f"{ARGS}'max_num_seqs': 640}}"),
    ),
    "prefix-cache-on": (
        Case(facts={"prefix_cache": False}),
        Case(f"{ENGINE}enable_prefix_caching=False\n{SERVER_ARGS}disable_radix_cache=True)"),
    ),
    "reduced-context": (Case(f"{ENGINE}max_seq_len=262144, x"),),
    "trust-remote-code": (Case(f"{ENGINE}trust_remote_code=False, x"),),
    "no-periodic-lines": (Case("Engine 000: Avg prompt throughput: 1.0 tokens/s"),),
}
