"""What the files of a checkpoint say of it: architecture, number formats, bytes, and what is left unquantised.

Takes the bytes of `config.json`, `hf_quant_config.json`, a safetensors index and headers, or the head of a GGUF file;
`auditor.review.checkpoint` reads them. Weights themselves are never looked at.
"""
