/** OpenEnv's paths of one environment: what a request without a session is answered. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { version } from '../../base/package.js';
import type { BoxSpace, Space } from '../../environments/environment.js';
import { badRequest, HttpError, readJsonBody, requireMethod } from '../http.js';
import { longestMessage, toolsAnswer } from './messages.js';
import type { DescribedEnvironment, OfferedEnvironment } from './offered.js';
import { validated } from './refusal.js';
import { checkedAction, freshState, observationField } from './session.js';

const stepSchema = z.strictObject({
  action: z.unknown(),
  timeout_s: z.number().positive().nullish(),
  request_id: z.string().max(255).nullish(),
});

/**
 * As in OpenEnv, each request has an environment of its own: an episode needs a WebSocket.
 * @throws HttpError for a path or a method that is not there; Refusal for what the request asks for
 */
export async function answerRoute(
  request: IncomingMessage,
  path: string,
  offered: OfferedEnvironment,
): Promise<object> {
  switch (path) {
    case '/health':
      requireMethod(request, 'GET', 'HEAD');
      return { status: 'healthy' };
    case '/metadata':
      requireMethod(request, 'GET', 'HEAD');
      return metadataOf(await offered.describe());
    case '/schema':
      requireMethod(request, 'GET', 'HEAD');
      return schemasOf(await offered.describe());
    case '/openapi.json':
      requireMethod(request, 'GET', 'HEAD');
      return openApi(await offered.describe());
    case '/state':
      requireMethod(request, 'GET', 'HEAD');
      return freshState((await offered.describe()).id);
    case '/reset':
      requireMethod(request, 'POST');
      return reset(await optionalBody(request), offered);
    case '/step':
      requireMethod(request, 'POST');
      return step(await readJsonBody(request, longestMessage), offered);
    case '/mcp':
      requireMethod(request, 'POST');
      return toolsAnswer(await readJsonBody(request, longestMessage));
    case '/ws':
      throw new HttpError(426, 'invalid_request_error', 'this is the path of a WebSocket', {
        headers: { upgrade: 'websocket' },
      });
    default:
      throw new HttpError(404, 'not_found_error', `there is nothing at ${path}`);
  }
}

async function reset(body: unknown, offered: OfferedEnvironment): Promise<object> {
  const session = await offered.open();
  try {
    return await session.reset(body);
  } finally {
    session.close();
  }
}

async function step(body: unknown, offered: OfferedEnvironment): Promise<never> {
  checkedAction(validated(stepSchema, body).action, await offered.describe());
  throw new HttpError(
    409,
    'invalid_request_error',
    'no reset has started this environment: each request has one of its own, and episodes are played over the WebSocket at /ws',
  );
}

/** A reset may come without a body. */
function optionalBody(request: IncomingMessage): Promise<unknown> | object {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  return length === '0' && encoding === undefined ? {} : readJsonBody(request, longestMessage);
}

/** @throws HttpError where there is no such environment, or the path names none and there are several */
export function routeOf(
  path: string,
  offered: readonly OfferedEnvironment[],
): { readonly offered: OfferedEnvironment; readonly path: string } {
  const [, first = '', ...rest] = path.split('/');
  const named = offered.find(({ name }) => first === addressOf(name) || first === encodeURIComponent(name));
  if (named !== undefined) return { offered: named, path: `/${rest.join('/')}` };
  const [only, ...others] = offered;
  if (only !== undefined && others.length === 0) return { offered: only, path };
  if (rest.length > 0)
    throw new HttpError(404, 'not_found_error', `no environment is called ${first}; GET / lists them`);
  throw badRequest('several environments are served: name one, e.g. /CartPole-v1/ws; GET / lists them');
}

/** The name as a path has it: a colon may stand there. */
export const addressOf = (name: string): string => encodeURIComponent(name).replaceAll('%3A', ':');

/** What OpenEnv's server tells of an environment: metadata, JSON Schemas, and the paths themselves. */

type Schema = Readonly<Record<string, unknown>>;

/** OpenEnv's `EnvironmentMetadata`. */
export function metadataOf({ description, id }: DescribedEnvironment) {
  return {
    name: id,
    description,
    readme_content: null,
    version: version(),
    author: null,
    documentation_url: null,
  };
}

/** OpenEnv's `SchemaResponse`. */
export function schemasOf(environment: DescribedEnvironment) {
  const { actionSpace, id, observationSpace, tellsObjective, tellsScore } = environment;
  const metadata = { type: 'object', description: 'Says nothing to the environment' };
  const action = objectOf(`Action of ${id}`, { action: spaceSchema(actionSpace) });
  return {
    action: { ...action, properties: { ...(action.properties as Schema), metadata } },
    observation: objectOf(`Observation of ${id}`, {
      [observationField(observationSpace.kind)]: spaceSchema(observationSpace),
      ...(tellsScore && scoreSchemas),
      ...(tellsObjective && { objective: orNull({ type: 'string' }, 'What the player is told to do') }),
      ...endSchemas,
    }),
    state: objectOf(`State of ${id}`, {
      episode_id: orNull({ type: 'string' }),
      step_count: { type: 'integer', minimum: 0 },
      environment: { type: 'string' },
      seed: orNull({ type: 'integer', minimum: 0 }),
      episode_return: { type: 'number', description: "Sum of the present episode's rewards" },
      ...endSchemas,
    }),
  };
}

const endSchemas = {
  terminated: { type: 'boolean', description: 'The task ended' },
  truncated: { type: 'boolean', description: 'The limit of steps cut the episode off' },
} as const;

const scoreSchemas = {
  score: { type: 'number' },
  max_score: orNull({ type: 'number' }, 'Score of a game that is won'),
  won: { type: 'boolean' },
  lost: { type: 'boolean' },
  moves: orNull({ type: 'integer' }, 'Commands that were understood'),
  admissible: orNull({ type: 'array', items: { type: 'string' } }, 'Commands that do something now'),
} as const;

function orNull(schema: Schema, description?: string): Schema {
  return { anyOf: [schema, { type: 'null' }], ...(description !== undefined && { description }) };
}

function objectOf(title: string, properties: Schema): Schema {
  return {
    type: 'object',
    title,
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function spaceSchema(space: Space): Schema {
  switch (space.kind) {
    case 'discrete': {
      const { n, start = 0 } = space;
      return { type: 'integer', minimum: start, maximum: start + n - 1 };
    }
    case 'box':
      return listOf(space.low.map((_, i) => boundsOf(space, i)));
    case 'tuple':
      return listOf(space.spaces.map(spaceSchema));
    case 'text':
      return { type: 'string', ...(space.choices !== undefined && { enum: space.choices }) };
  }
}

function listOf(parts: readonly Schema[]): Schema {
  const { length } = parts;
  return { type: 'array', prefixItems: parts, minItems: length, maxItems: length };
}

/** JSON has no infinities. */
function boundsOf({ high, low }: BoxSpace, at: number): Schema {
  return {
    type: 'number',
    ...(Number.isFinite(low[at]) && { minimum: low[at] }),
    ...(Number.isFinite(high[at]) && { maximum: high[at] }),
  };
}

/** What stands at each path, for `openapi.json`. */
const paths: Readonly<Record<string, readonly [method: 'get' | 'post', summary: string]>> = {
  '/health': ['get', 'Whether the server is there'],
  '/metadata': ['get', 'Name and description of the environment'],
  '/schema': ['get', 'JSON Schemas of actions, observations and states'],
  '/state': ['get', 'The state of an environment that no reset has started'],
  '/reset': ['post', 'The first observation of an episode'],
  '/step': ['post', 'Refused: steps are taken over the WebSocket at /ws, one environment a connection'],
  '/mcp': ['post', 'JSON-RPC, which says that the environment has no tools'],
};

/** A description of the paths that one environment has. */
export function openApi({ id }: DescribedEnvironment) {
  const operations = Object.entries(paths).map(([path, [method, summary]]) => {
    const responses = { 200: { description: 'Answered' }, 422: { description: 'Invalid request' } };
    return [path, { [method]: { summary, responses } }] as const;
  });
  return {
    openapi: '3.1.0',
    info: { title: `OpenEnv environment ${id}`, version: version() },
    paths: Object.fromEntries(operations),
  };
}
