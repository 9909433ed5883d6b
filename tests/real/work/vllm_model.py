# SPDX-License-Identifier: Apache-2.0
"""Writes a Llama's configuration and a tokenizer of one byte a token, for vLLM with random weights.

    vllm_model.py FOLDER
"""
import os
import sys

from tokenizers import Tokenizer, models
from transformers import LlamaConfig, PreTrainedTokenizerFast

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
vocabulary = {chr(byte) if 32 <= byte < 127 else f"<{byte}>": byte for byte in range(256)}
vocabulary.update({"</s>": 256, "<s>": 257})
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="</s>"))
PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
LlamaConfig(vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
            head_dim=64, max_position_embeddings=2048, bos_token_id=257, eos_token_id=256, architectures=["LlamaForCausalLM"],
            torch_dtype="bfloat16").save_pretrained(folder)
