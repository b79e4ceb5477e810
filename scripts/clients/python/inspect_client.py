"""Inspect."""
import asyncio
import os
import tempfile

logs = tempfile.TemporaryDirectory()
os.environ.update({"POLICYLOOP_API_KEY": "none", "INSPECT_DISPLAY": "none", "INSPECT_LOG_DIR": logs.name})
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice
from inspect_ai.tool import ToolFunction, tool
from inspect_ai.util import json_schema
from pydantic import BaseModel

from checks import check, client, model, url

client("inspect-ai")
made = lambda **config: get_model(
    f"openai-api/policyloop/{model}", base_url=url, config=GenerateConfig(max_tokens=60, temperature=0, max_retries=0, **config)
)
ask = lambda prompt, tools=[], tool_choice="none", **config: asyncio.run(
    made(**config).generate(prompt, tools=tools, tool_choice=tool_choice)
)


@tool
def weather():
    async def execute(city: str):
        """The weather in a city.

        Args:
            city: Name of the city.
        """
        return "sunny"

    return execute


class Point(BaseModel):
    x: int
    y: int


@check("generate")
def _():
    assert ask("Name a city in France.").completion


@check("top_logprobs")
def _():
    reply = ask("Name a city in France.", logprobs=True, top_logprobs=4)
    assert all(len(token.top_logprobs) == 4 for token in reply.choices[0].logprobs.content)


@check("schema")
def _():
    reply = ask("A point as JSON.", response_schema=ResponseSchema(name="point", json_schema=json_schema(Point), strict=True))
    Point.model_validate_json(reply.completion)


@check("tools")
def _():
    reply = ask("What is the weather in Paris?", [weather()], ToolFunction(name="weather"))
    assert reply.message.tool_calls[0].function == "weather"


@check("evaluation")
def _():
    sample = Sample(input="Which is a fruit?", choices=["stone", "apple"], target="B")
    (log,) = eval(
        Task(dataset=[sample], solver=multiple_choice(), scorer=choice()), model=made(), log_dir=logs.name
    )
    assert log.status == "success", log.error
