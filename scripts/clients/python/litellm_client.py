"""LiteLLM."""
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

from checks import check, client, model, url

client("litellm")
server = {"model": f"openai/{model}", "api_base": url, "api_key": "none", "num_retries": 0}
messages = [{"role": "user", "content": "Name a city in France."}]


@check("chat")
def _():
    reply = litellm.completion(**server, messages=messages, max_tokens=24, frequency_penalty=0.1)
    assert reply.choices[0].message.content and reply.usage.completion_tokens > 0


@check("stream")
def _():
    stream = litellm.completion(**server, messages=messages, max_tokens=24, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream)


@check("schema")
def _():
    import json

    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
    format = {"type": "json_schema", "json_schema": {"name": "point", "schema": schema, "strict": True}}
    reply = litellm.completion(**server, messages=messages, max_tokens=100, response_format=format)
    assert isinstance(json.loads(reply.choices[0].message.content)["x"], int)


@check("tools")
def _():
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    reply = litellm.completion(**server, messages=messages, max_tokens=100, tools=tools, tool_choice="required")
    assert reply.choices[0].message.tool_calls[0].function.name == "weather"


@check("text completion")
def _():
    reply = litellm.text_completion(
        **{**server, "model": f"text-completion-openai/{model}"}, prompt="Once upon", max_tokens=16
    )
    assert reply.choices[0].text


@check("embeddings")
def _():
    assert len(litellm.embedding(**server, input=["a", "b"]).data) == 2


@check("responses")
def _():
    reply = litellm.responses(**server, input="Name a city in France.", max_output_tokens=24)
    assert reply.output[0].content[0].text


@check("bridge from responses to chat")
def _():
    reply = litellm.responses(
        **{**server, "model": f"hosted_vllm/{model}"}, input="Name a city in France.", max_output_tokens=24
    )
    assert reply.output[-1].content[0].text


@check("errors")
def _():
    try:
        litellm.completion(**server, messages=[{"role": "user", "content": "word " * 300_000}], max_tokens=8)
        raise AssertionError("not refused")
    except litellm.ContextWindowExceededError:
        pass
