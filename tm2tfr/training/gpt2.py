"""Any GPT-2 of transformers, not pretrained, as a model to train."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from tm2tfr.errors import TrainingError, first_line
from tm2tfr.extras import required
from tm2tfr.training.options import ModelOptions


class GPT2(nn.Module):
    """A GPT-2 with random weights, `model`; its last token is padding.

    Args:
        options: further entries of the configuration in `options.config` take precedence.

    Raises:
        TrainingError: if transformers is missing, or refuses the configuration.
    """

    def __init__(self, options: ModelOptions, vocabulary: int, positions: int) -> None:
        super().__init__()
        transformers: Any = required("a GPT-2 needs transformers", ["transformers"], "hf", error=TrainingError)[0]
        shape = {"n_layer": options.layers, "n_head": options.heads, "n_embd": options.width, "n_inner": options.hidden}
        kept = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), options.dropout)
        try:
            config = transformers.GPT2Config(
                **{
                    "vocab_size": vocabulary + 1,
                    "n_positions": positions,
                    **shape,
                    **kept,
                    "bos_token_id": None,
                    "eos_token_id": None,
                    "tie_word_embeddings": not options.frozen,
                    **options.config,
                }
            )
            config._attn_implementation = "eager"  # the others do not tell the weights of attention
            self.model = transformers.GPT2LMHeadModel(config)
        except Exception as error:  # some releases of transformers raise errors that are of no class but this
            why = " ".join(str(error).split()) or first_line(error)
            raise TrainingError(f"transformers refuses this GPT-2 ({why}): change its configuration") from error
        self.vocabulary = vocabulary
        if options.frozen:
            _freeze(self.model)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of the tokens that follow: (B, L) → (B, L, vocabulary)."""
        logits: Tensor = self.model(tokens, use_cache=False).logits
        return logits[..., : self.vocabulary]

    def attention(self, tokens: Tensor) -> list[Tensor]:
        """Return the weights of attention, layer by layer: (B, L) → (B, heads, L, L) each."""
        return list(self.model(tokens, use_cache=False, output_attentions=True).attentions)


def _freeze(model: nn.Module) -> None:
    """Train the embeddings, the layer norms and the output alone.

    Source: Lu et al., *Pretrained Transformers as Universal Computation Engines* (2021), where the body is pretrained.
    """
    trained = ("wte", "wpe", "ln_1", "ln_2", "ln_f", "lm_head")
    for name, each in model.named_parameters():
        each.requires_grad = any(part in trained for part in name.split("."))
