"""The forward pass of all-MiniLM-L6-v2, the packaged text model.

Its architecture is BERT (Devlin et al. 2019, "BERT: pre-training of deep bidirectional transformers
for language understanding"). From h = LN(word + position + type), each of six layers does

    h ← LN(h + W_o softmax(Q Kᵀ / √d) V)      self-attention, 12 heads
    h ← LN(h + W₂ gelu(W₁ h))

and a text is the mean of its tokens. sentence-transformers computes the same, but takes three
seconds to import, which is more than a few new texts of a large table cost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# Tokens of a text that are read, and texts at a time.
_TOKENS, _BATCH = 256, 32


@dataclass
class MiniLM:
    """The model in a folder, loaded when the first text is embedded."""

    folder: Path

    def __call__(self, texts: list[str]) -> Tensor:
        """Return a vector for each text [n, 384]."""
        batches = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        with torch.inference_mode():
            return torch.cat([self._forward(batch) for batch in batches])

    def _forward(self, texts: list[str]) -> Tensor:
        tokens = self._tokenizer.encode_batch(texts)
        ids = torch.tensor([one.ids for one in tokens])  # [n, L]
        mask = torch.tensor([one.attention_mask for one in tokens], dtype=torch.bool)
        word, position, kind = (
            self._weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        h = self._norm(word[ids] + position[: ids.shape[1]] + kind[0], "embeddings")  # [n, L, H]
        for layer in range(self._config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            q, k, v = (
                self._linear(h, f"{at}.attention.self.{part}")
                .unflatten(2, (self._config["num_attention_heads"], -1))
                .transpose(1, 2)
                for part in ("query", "key", "value")
            )
            heads = functional.scaled_dot_product_attention(q, k, v, mask[:, None, None])
            seen = self._linear(heads.transpose(1, 2).flatten(2), f"{at}.attention.output.dense")
            h = self._norm(h + seen, f"{at}.attention.output")
            wide = functional.gelu(self._linear(h, f"{at}.intermediate.dense"))
            h = self._norm(h + self._linear(wide, f"{at}.output.dense"), f"{at}.output")
        return (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # [n, H]

    def _linear(self, h: Tensor, name: str) -> Tensor:
        weights = self._weights
        return functional.linear(h, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def _norm(self, h: Tensor, name: str) -> Tensor:
        weight, bias = (self._weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(h, weight.shape, weight, bias, self._config["layer_norm_eps"])

    @cached_property
    def _config(self) -> dict[str, Any]:
        return json.loads((self.folder / "config.json").read_text())

    @cached_property
    def _weights(self) -> dict[str, Tensor]:
        from safetensors.torch import load_file

        return load_file(self.folder / "model.safetensors")

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.enable_truncation(_TOKENS)
        tokenizer.enable_padding()
        return tokenizer
