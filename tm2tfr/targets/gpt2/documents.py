"""The files beside the tensors: configuration, tokenizer, how to generate, the names of everything, and a model card."""

from __future__ import annotations

from tm2tfr._version import __version__
from tm2tfr.base.text.shown import escaped, json_text
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.turing.tokens import ARROW
from tm2tfr.targets.common.directory import KEY, NAMES
from tm2tfr.targets.common.reference import in_prompt
from tm2tfr.targets.common.verdict import checking, heading, layers_named, table, typed
from tm2tfr.targets.common.verdict import introduction as introduction_of
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tensors import PAD, UNK, Gpt2, Translated

FORMAT, VERSION = "tm2tfr-gpt2", "3"
OF_PROMPTS = """The tokenizer takes `->` for `→` and input symbols without spaces, and puts
`BOS` at the end. A token that it does not know becomes `[UNK]`, and nothing is promised for the run."""
"""What to know of a tokenizer that reads prompts with a program in them."""
OF_BITS = "The tokenizer takes the bits with or without spaces."
"""What to know of one that reads bits."""


def documents(gpt2: Gpt2, right: ExportReference) -> dict[str, str]:
    """Return the text of each file by its name."""
    found: PlainData = {
        "config.json": config(gpt2),
        "generation_config.json": generation(gpt2),
        "tokenizer.json": tokenizer(gpt2),
        "tokenizer_config.json": tokenizer_config(gpt2),
        NAMES: names(gpt2),
    }
    return dumped(found) | {"README.md": model_card(gpt2, right)}


def dumped(found: PlainData) -> dict[str, str]:
    """Return each value as JSON text."""
    return {name: json_text(value, indent=2) for name, value in found.items()}


def config(gpt2: Gpt2) -> PlainData:
    """Return the configuration from which `transformers` builds the model."""
    special = gpt2.numbers
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": len(gpt2.vocabulary),
        **shape(gpt2),
        **_ends(gpt2),
        "pad_token_id": special[PAD],
        "dtype": gpt2.recipe.dtype,
        "torch_dtype": gpt2.recipe.dtype,
        KEY: origin(gpt2),
    }


def shape(gpt2: Gpt2) -> PlainData:
    """Return the settings of GPT-2's own parts."""
    return {
        "n_positions": gpt2.recipe.positions,
        "n_embd": gpt2.width,
        "n_layer": len(gpt2.decoder.layers),
        "n_head": gpt2.heads,
        "n_inner": gpt2.inner,
        "activation_function": gpt2.recipe.activation,
        "layer_norm_epsilon": gpt2.recipe.epsilon,
        "scale_attn_weights": gpt2.scaled,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        "tie_word_embeddings": False,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
    }


def origin(gpt2: Gpt2, format: str = FORMAT) -> PlainData:
    """Return the origin of an export and its recipe; in the configuration it survives ``save_pretrained``."""
    own = {"format": format, "version": VERSION, "tm2tfr": __version__}
    return {**own, "recipe": gpt2.recipe.options, "provenance": dict(gpt2.decoder.provenance)}


def generation(gpt2: Gpt2) -> PlainData:
    """Return the settings for generation: greedily, until a verdict or the last position."""
    special = gpt2.numbers
    return {
        "do_sample": False,
        "max_length": gpt2.recipe.positions + 1,  # the answer at the last position is not fed again
        **_ends(gpt2),
        "pad_token_id": special[PAD],
    }


def _ends(gpt2: Gpt2) -> PlainData:
    """Return the numbers of BOS and of the stop tokens; None where there are none."""
    bos, stop = gpt2.decoder.bos, [gpt2.numbers[token] for token in gpt2.decoder.stop]
    return {"bos_token_id": None if bos is None else gpt2.numbers[bos], "eos_token_id": stop or None}


def tokenizer(gpt2: Gpt2) -> PlainData:
    """Return a tokenizer that finds the tokens anywhere, the longest first, and puts BOS after the text.

    That of a class of machines takes prompts as `tm2tfr.sources.turing.universal.prompt.text` writes them.
    """
    number, bos, prompted = gpt2.numbers, gpt2.decoder.bos, in_prompt(gpt2.decoder.provenance)
    hidden = (bos, PAD, UNK)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": prompted}
    added = [{"id": n, "content": token, **flags, "special": token in hidden} for token, n in number.items()]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": _written(bos) if prompted and bos is not None else None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None if bos is None else _followed_by(bos, number[bos]),
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": number, "unk_token": UNK},
    }


def _written(bos: str) -> PlainData:
    """Return what prompts may have beside their tokens: a byte order mark, ASCII arrows, and BOS at the end.

    These are replaced by a space, and not by nothing, since a tokenizer fails on a text of which nothing is left.
    BOS alone stays, since these changes are made to the tokens themselves as well.
    """
    changes = (({"Regex": "^\ufeff"}, " "), ({"String": "->"}, ARROW), ({"Regex": rf"(\s+|(?<=\S)){bos}\s*$"}, " "))
    return {
        "type": "Sequence",
        "normalizers": [{"type": "Replace", "pattern": pattern, "content": to} for pattern, to in changes],
    }


def _followed_by(bos: str, number: int) -> PlainData:
    end = {"SpecialToken": {"id": bos, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, end],
        "pair": [{"Sequence": {"id": s, "type_id": 0}} for s in "AB"] + [end],
        "special_tokens": {bos: {"id": bos, "ids": [number], "tokens": [bos]}},
    }


def tokenizer_config(gpt2: Gpt2) -> PlainData:
    """Return the tokenizer's settings for `transformers`."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **({} if gpt2.decoder.bos is None else {"bos_token": gpt2.decoder.bos}),
        "pad_token": PAD,
        "unk_token": UNK,
        "padding_side": "left",
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": gpt2.recipe.positions,
    }


def names(gpt2: Gpt2) -> PlainData:
    """Return the data for probes: the place of each named direction, head and hidden unit, and the export's origin."""
    return {
        **origin(gpt2),
        "rounding_bounds": gpt2.recipe.statement,
        "read": gpt2.reading,
        "directions": [gpt2.place(n) for n in range(len(gpt2.directions))],
        **parts(gpt2),
    }


def parts(gpt2: Gpt2) -> PlainData:
    """Return the names of layers, heads, hidden units and tokens."""

    def components(layer: int, head: int) -> PlainData:
        pairs = enumerate(gpt2.scores[layer][head].components)
        return {"components": [{"dimension": slot, "query": query, "key": key} for slot, (query, key) in pairs]}

    return {
        "layers": layers_named(gpt2.decoder, 0, components),
        "vocabulary": list(gpt2.vocabulary),
        "bos": gpt2.decoder.bos,
        "stop": list(gpt2.decoder.stop),
    }


def model_card(gpt2: Gpt2, right: ExportReference) -> str:
    """Return the model card."""
    stream, word = gpt2.about_the_stream, typed(" ".join(filter(None, right.parted)), gpt2.vocabulary)
    front = {"library_name": "transformers", "pipeline_tag": "text-generation"}
    return f"""{heading(right, f"{escaped(right.named())} as a GPT-2", front)}
{introduction(gpt2, right)}

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("."), AutoModelForCausalLM.from_pretrained(".")
{_run(gpt2, right)}
print(tokenizer.decode(run[0]))
```

A pipeline joins the input and its run without a space. These lines print the run with the input and a space before it:

```python
from transformers import pipeline

text = {word!r}
print(text, pipeline("text-generation", ".")(text, return_full_text=False)[0]["generated_text"])
```

{gpt2.recipe.assured("a longer run ends there, and a longer prompt is an error")}

{checking(right)}

**What is where.** `{NAMES}` names the directions of the residual stream, the attention heads and the hidden units. {stream}

{table(sizes(gpt2) | norm(gpt2.recipe))}"""


def sizes(made: Translated) -> dict[str, object]:
    """Return what all model cards say of a model in numbers."""
    recipe = made.gpt2.recipe
    return {
        "layers, heads per layer, width": f"{len(made.gpt2.decoder.layers)}, {made.heads}, {made.width}",
        "positions": f"{recipe.positions:,}",
        "numbers": recipe.dtype,
    }


def norm(recipe: Gpt2Recipe) -> dict[str, object]:
    """Return the sentence of a model card about the activation and the layer norms."""
    return {"activation, layer norm epsilon": f"{recipe.activation}, {recipe.epsilon:g}"}


def _run(gpt2: Gpt2, right: ExportReference) -> str:
    """Return the Python that makes a run from ``tokenizer`` and ``model``; of a class, from the text of a machine."""
    program, word = right.parted
    if not program:
        return f'run = model.generate(**tokenizer({typed(word, gpt2.vocabulary)!r}, return_tensors="pt"))'
    return f"""machine, word = {program!r}, {word!r}
run = model.generate(**tokenizer(f"{{machine}} {{word}}", return_tensors="pt"))"""


def introduction(gpt2: Gpt2, right: ExportReference) -> str:
    """Return the paragraphs of a model card about the model, and how to give it a word."""
    symbols = {token for token in gpt2.vocabulary if len(token) == 1}
    between = ", with or without\nspaces between its symbols."
    if any(len(token) > 1 and symbols.issuperset(token) for token in gpt2.vocabulary):
        between = ". Put spaces\nbetween its symbols if they would spell another token."
    told = f"The tokenizer puts `{gpt2.decoder.bos}`, which starts the run, after the word"
    told = OF_PROMPTS if right.in_prompt else f"{told}{'.' if ' ' in symbols else between}"
    return introduction_of(right, "an input word", OF_BITS if gpt2.decoder.bos is None else told)
