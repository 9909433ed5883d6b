# SPDX-License-Identifier: Apache-2.0
"""vLLM generates tokens for several prompts at once, and prints how many there are of each.

    vllm_generate.py MODEL TOKENS
"""
import sys

from vllm import LLM, SamplingParams


def main():
    model, tokens = sys.argv[1], int(sys.argv[2])
    llm = LLM(model, load_format="dummy", dtype="bfloat16", max_model_len=512, num_gpu_blocks_override=256, enforce_eager=True,
              gpu_memory_utilization=0.3, disable_log_stats=True, seed=1)
    answers = llm.generate(["hello world"] * 8, SamplingParams(max_tokens=tokens, ignore_eos=True, detokenize=False, seed=1),
                           use_tqdm=False)
    print("tokens", *(len(answer.outputs[0].token_ids) for answer in answers))


if __name__ == "__main__":
    main()
