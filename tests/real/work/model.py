#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a language model of a few megabytes for llama.cpp: random weights from a fixed seed, a tokenizer of bytes and letters.

    model.py FILE

The file is GGUF version 3: key and value pairs, then the tensors' shapes, then their data, each aligned to 32 bytes.
"""
import random
import struct
import sys

LAYERS, WIDTH, HEAD, HEADS, KV_HEADS, INNER, CONTEXT = 4, 256, 64, 4, 2, 512, 4096
ALIGN = 32
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9  # types of values
FLOATS, Q8_0 = 0, 8  # types of tensors; Q8_0: blocks of 32 bytes with a scale of two
NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6  # types of tokens


def pack_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def pad(data):
    return data + bytes(-len(data) % ALIGN)


def make_vocabulary():
    """Pairs of token and type: special ones, all bytes, letters and some pairs of them, as many as divide by 32."""
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    space = "\u2581"
    words = [space, *letters, *(space + c for c in letters), "th", "he", "in", "er", "an"]
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    tokens += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    tokens += [(word, NORMAL) for word in words]
    tokens += [(f"<pad{n}>", UNUSED) for n in range(-len(tokens) % 32)]
    return tokens


def make_settings(tokens):
    """The key and value pairs, packed."""
    settings = []

    def add(key, kind, value):
        settings.append(pack_string(key) + struct.pack("<I", kind) + value)

    def add_list(key, kind, form, values):
        data = b"".join(map(pack_string, values)) if kind == STRING else struct.pack(f"<{len(values)}{form}", *values)
        add(key, ARRAY, struct.pack("<IQ", kind, len(values)) + data)

    for key, text in (("general.architecture", "llama"), ("general.name", "random"), ("tokenizer.ggml.model", "llama"),
                      ("tokenizer.ggml.pre", "default")):
        add(key, STRING, pack_string(text))
    for key, number in (("general.file_type", 7), ("general.quantization_version", 2), ("llama.context_length", CONTEXT),
                        ("llama.embedding_length", WIDTH), ("llama.block_count", LAYERS), ("llama.feed_forward_length", INNER),
                        ("llama.attention.head_count", HEADS), ("llama.attention.head_count_kv", KV_HEADS),
                        ("llama.rope.dimension_count", HEAD), ("llama.vocab_size", len(tokens)),
                        ("tokenizer.ggml.unknown_token_id", 0), ("tokenizer.ggml.bos_token_id", 1), ("tokenizer.ggml.eos_token_id", 2)):
        add(key, U32, struct.pack("<I", number))
    for key, number in (("llama.attention.layer_norm_rms_epsilon", 1e-5), ("llama.rope.freq_base", 1e4)):
        add(key, F32, struct.pack("<f", number))
    add_list("tokenizer.ggml.tokens", STRING, "", [text for text, _ in tokens])
    add_list("tokenizer.ggml.scores", F32, "f", [-float(rank) if kind == NORMAL else 0.0 for rank, (_, kind) in enumerate(tokens)])
    add_list("tokenizer.ggml.token_type", I32, "i", [kind for _, kind in tokens])
    return settings


def make_tensors(words):
    """Name, shape and type of each."""
    yield "token_embd.weight", (WIDTH, words), Q8_0
    yield "output_norm.weight", (WIDTH,), FLOATS
    yield "output.weight", (WIDTH, words), Q8_0
    for layer in range(LAYERS):
        for name, shape, kind in (("attn_norm", (WIDTH,), FLOATS), ("attn_q", (WIDTH, HEADS * HEAD), Q8_0),
                                  ("attn_k", (WIDTH, KV_HEADS * HEAD), Q8_0), ("attn_v", (WIDTH, KV_HEADS * HEAD), Q8_0),
                                  ("attn_output", (HEADS * HEAD, WIDTH), Q8_0), ("ffn_norm", (WIDTH,), FLOATS),
                                  ("ffn_gate", (WIDTH, INNER), Q8_0), ("ffn_up", (WIDTH, INNER), Q8_0),
                                  ("ffn_down", (INNER, WIDTH), Q8_0)):
            yield f"blk.{layer}.{name}.weight", shape, kind


def make_data(shape, kind, numbers):
    count = 1
    for length in shape:
        count *= length
    if kind == FLOATS:
        return struct.pack(f"<{count}f", *[1.0] * count)
    return b"".join(struct.pack("<e", 0.002) + numbers.randbytes(32) for _ in range(count // 32))


def main():
    tokens = make_vocabulary()
    settings = make_settings(tokens)
    numbers = random.Random(1)
    head, data, tensors = b"", b"", 0
    for name, shape, kind in make_tensors(len(tokens)):
        head += pack_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += pad(make_data(shape, kind, numbers))
        tensors += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, len(settings)) + b"".join(settings) + head
    with open(sys.argv[1], "wb") as out:
        out.write(pad(head) + data)


if __name__ == "__main__":
    main()
