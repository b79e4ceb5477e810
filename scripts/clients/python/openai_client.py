"""OpenAI's Python client."""
import math

import openai
from pydantic import BaseModel

from checks import check, client, model, url

client("openai")
api = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
messages = [{"role": "user", "content": "Name a city in France."}]
short = {"model": model, "max_tokens": 24, "temperature": 0}


class Point(BaseModel):
    x: int
    y: int
    name: str


weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


@check("chat")
def _():
    raw = api.chat.completions.with_raw_response.create(messages=messages, n=2, **short)
    reply = raw.parse()
    assert reply.choices[0].message.content and len(reply.choices) == 2
    assert reply.usage.completion_tokens > 0 and reply.system_fingerprint and raw.request_id


@check("stream")
def _():
    stream = api.chat.completions.create(
        messages=messages, stream=True, stream_options={"include_usage": True}, **short
    )
    chunks = list(stream)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == api.chat.completions.create(messages=messages, **short).choices[0].message.content
    assert chunks[-1].usage.completion_tokens > 0


@check("logprobs")
def _():
    reply = api.chat.completions.create(messages=messages, logprobs=True, top_logprobs=3, **short)
    for token in reply.choices[0].logprobs.content:
        assert len(token.top_logprobs) == 3
        assert math.isclose(token.logprob, token.top_logprobs[0].logprob, abs_tol=1e-4)


@check("penalties")
def _():
    ask = lambda value: api.chat.completions.create(
        messages=[{"role": "user", "content": "Write: a a a a a a"}],
        frequency_penalty=value, presence_penalty=value, **short,
    ).choices[0].message.content
    assert ask(0) == ask(None)
    ask(1.5)


@check("schema")
def _():
    reply = api.chat.completions.parse(
        messages=[{"role": "user", "content": "Give me a point, as JSON."}],
        response_format=Point, model=model, max_tokens=200, temperature=0,
    )
    assert isinstance(reply.choices[0].message.parsed.x, int)


@check("json_object")
def _():
    import json

    reply = api.chat.completions.create(
        messages=[{"role": "user", "content": "A point with x and y as JSON."}],
        response_format={"type": "json_object"}, model=model, max_tokens=200, temperature=0,
    )
    assert isinstance(json.loads(reply.choices[0].message.content), dict)


@check("tools")
def _():
    import json

    question = [{"role": "user", "content": "What is the weather in Paris?"}]
    ask = lambda chat, choice: api.chat.completions.create(
        messages=chat, tools=[weather], tool_choice=choice, model=model, max_tokens=100, temperature=0
    ).choices[0].message
    reply = ask(question, "required")
    (call,) = reply.tool_calls[:1]
    assert call.function.name == "weather" and "city" in json.loads(call.function.arguments)
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny, 21 degrees"}
    assert ask([*question, reply, result], "none").content


@check("completions")
def _():
    reply = api.completions.create(prompt=["Once upon", "The end"], **short)
    assert [choice.index for choice in reply.choices] == [0, 1] and reply.choices[0].text
    text = "".join(
        choice.text
        for chunk in api.completions.create(prompt="Once upon", stream=True, **short)
        for choice in chunk.choices
    )
    assert text == reply.choices[0].text


@check("echo and logprobs")
def _():
    asked = {**short, "max_tokens": 0}
    (choice,) = api.completions.create(prompt="Paris is in France.", echo=True, logprobs=5, **asked).choices
    assert choice.text == "Paris is in France." and choice.logprobs.token_logprobs[0] is None
    assert sum(choice.logprobs.token_logprobs[1:]) < 0


@check("embeddings")
def _():
    cat, kitten, law = [
        one.embedding
        for one in api.embeddings.create(
            model=model, input=["A cat sleeps.", "A kitten sleeps.", "Section 12 of the tax law applies."]
        ).data
    ]
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    similarity = lambda a, b: dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))
    assert similarity(cat, kitten) > similarity(cat, law)


@check("responses")
def _():
    asked = {"model": model, "input": "Name a city in France.", "max_output_tokens": 24, "temperature": 0}
    whole = api.responses.create(**asked, instructions="Be brief.")
    assert whole.output_text and whole.usage.output_tokens > 0
    with api.responses.stream(**asked, instructions="Be brief.") as stream:
        assert stream.until_done().get_final_response().output_text == whole.output_text


@check("responses with schema and tools")
def _():
    parsed = api.responses.parse(
        model=model, input="Give me a point, as JSON.", text_format=Point, max_output_tokens=200, temperature=0
    )
    assert isinstance(parsed.output_parsed.y, int)
    called = api.responses.create(
        model=model, input="What is the weather in Paris?", tool_choice="required", max_output_tokens=100,
        tools=[{"type": "function", **weather["function"]}], temperature=0,
    )
    assert any(item.type == "function_call" and item.name == "weather" for item in called.output)


@check("models")
def _():
    assert model in [one.id for one in api.models.list()]
    assert api.models.retrieve(model).max_model_len > 0


@check("errors")
def _():
    try:
        api.chat.completions.create(messages=[{"role": "user", "content": "word " * 300_000}], **short)
        raise AssertionError("not refused")
    except openai.BadRequestError as error:
        assert error.code == "context_length_exceeded", error.code
