"""LangChain."""
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from checks import check, client, model, url

client("langchain-openai")
server = {"base_url": url, "api_key": "none", "model": model, "max_retries": 0}
chat = ChatOpenAI(**server, temperature=0, max_tokens=200)


class Point(BaseModel):
    """A point."""

    x: int
    y: int


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"It is sunny in {city}."


@check("chat")
def _():
    reply = chat.invoke([("system", "Be brief."), ("human", "Name a city in France.")])
    assert reply.content and reply.usage_metadata["output_tokens"] > 0


@check("stream")
def _():
    assert len(list(chat.stream("Count to five."))) > 3


@check("schema")
def _():
    assert isinstance(chat.with_structured_output(Point, method="json_schema").invoke("A point as JSON").x, int)


@check("function calling")
def _():
    assert isinstance(chat.with_structured_output(Point, method="function_calling").invoke("A point: 3, 4").y, int)


@check("json_mode")
def _():
    reply = chat.with_structured_output(None, method="json_mode").invoke("The JSON object of a point with x and y")
    assert isinstance(reply, dict)


@check("tools")
def _():
    reply = chat.bind_tools([weather], tool_choice="any").invoke("What is the weather in Paris?")
    assert weather.invoke(reply.tool_calls[0]["args"])


@check("completions")
def _():
    assert OpenAI(**server, max_tokens=16, temperature=0).invoke("Once upon a time")


@check("embeddings")
def _():
    # Otherwise LangChain splits texts with OpenAI's own tokenizer, and sends the ids of its tokens.
    embeddings = OpenAIEmbeddings(**server, check_embedding_ctx_length=False)
    assert len(embeddings.embed_documents(["a", "b"])) == 2 and len(embeddings.embed_query("a")) > 8


@check("responses")
def _():
    assert ChatOpenAI(**server, use_responses_api=True, max_tokens=24).invoke("Say hello.").text
