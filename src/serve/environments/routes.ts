/** OpenEnv's HTTP routes for an environment, which need no session. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { version } from '../../base/package.js';
import type { BoxSpace, Space } from '../../environments/environment.js';
import { badRequest, HttpError, notFound, readJsonBody, requireMethod } from '../http.js';
import { longestMessage, toolsAnswer } from './messages.js';
import type { DescribedEnvironment, OfferedEnvironment } from './offered.js';
import { validated } from './refusal.js';
import { checkedAction, freshState, observationField } from './session.js';

const stepSchema = z.strictObject({
  action: z.unknown(),
  timeout_s: z.number().positive().nullish(),
  request_id: z.string().max(255).nullish(),
});

interface Route {
  readonly method: 'GET' | 'POST';
  readonly summary: string;
  answer(request: IncomingMessage, offered: OfferedEnvironment): Promise<object>;
}

const get = (summary: string, of: (environment: DescribedEnvironment) => object): Route => ({
  ...{ method: 'GET', summary },
  answer: async (_, offered) => of(await offered.describe()),
});

const routes: Readonly<Record<string, Route>> = {
  '/health': { method: 'GET', summary: 'Health check', answer: async () => ({ status: 'healthy' }) },
  '/metadata': get('Name and description of the environment', metadataOf),
  '/schema': get('JSON Schemas of actions, observations and states', schemasOf),
  '/state': get('State of an environment before its first reset', ({ id }) => freshState(id)),
  '/reset': {
    ...{ method: 'POST', summary: 'First observation of an episode' },
    answer: async (request, offered) => reset(await optionalBody(request), offered),
  },
  '/step': {
    ...{
      method: 'POST',
      summary: 'Always rejected: take steps over the WebSocket at /ws, one environment per connection',
    },
    answer: async (request, offered) => step(await readJsonBody(request, longestMessage), offered),
  },
  '/mcp': {
    ...{ method: 'POST', summary: 'JSON-RPC; the environment has no tools' },
    answer: async (request) => toolsAnswer(await readJsonBody(request, longestMessage)),
  },
};

const openApiRoute = get('OpenAPI description', openApi);

/**
 * As in OpenEnv, each request gets a new environment, so playing an episode requires a WebSocket.
 * @throws HttpError for an unknown path or method; Refusal for an invalid body
 */
export async function answerRoute(
  request: IncomingMessage,
  path: string,
  offered: OfferedEnvironment,
): Promise<object> {
  if (path === '/ws')
    throw new HttpError(426, 'invalid_request_error', 'this path requires a WebSocket connection', {
      headers: { upgrade: 'websocket' },
    });
  const route = path === '/openapi.json' ? openApiRoute : Object.hasOwn(routes, path) && routes[path];
  if (!route) throw notFound(`${path} not found`);
  requireMethod(request, ...(route.method === 'GET' ? ['GET', 'HEAD'] : ['POST']));
  return route.answer(request, offered);
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
    'each request gets a new environment, which has not been reset; play episodes over the WebSocket at /ws',
  );
}

/** The body of a reset request, which is optional. */
function optionalBody(request: IncomingMessage): Promise<unknown> | object {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  return length === '0' && encoding === undefined ? {} : readJsonBody(request, longestMessage);
}

/** @throws HttpError if the environment is unknown, or if there are several and the path doesn't name one */
export function routeOf(
  path: string,
  offered: readonly OfferedEnvironment[],
): { readonly offered: OfferedEnvironment; readonly path: string } {
  const [, first = '', ...rest] = path.split('/');
  const named = offered.find(({ name }) => first === addressOf(name) || first === encodeURIComponent(name));
  if (named !== undefined) return { offered: named, path: `/${rest.join('/')}` };
  const [only, ...others] = offered;
  if (only !== undefined && others.length === 0) return { offered: only, path };
  if (rest.length > 0) throw notFound(`unknown environment ${first}; GET / lists them`);
  const [example = ''] = offered.map(({ name }) => addressOf(name));
  throw badRequest(
    `this server has several environments; choose one, e.g. /${example}/ws (GET / lists them)`,
  );
}

/** Encodes a name as part of a URL path, in which a colon is allowed. */
export const addressOf = (name: string): string => encodeURIComponent(name).replaceAll('%3A', ':');

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
  const { actionSpace, id, observationSpace, hasObjective, hasScore } = environment;
  const metadata = { type: 'object', description: 'Ignored' };
  const action = objectOf(`Action of ${id}`, { action: spaceSchema(actionSpace) });
  return {
    action: { ...action, properties: { ...(action.properties as Schema), metadata } },
    observation: objectOf(`Observation of ${id}`, {
      [observationField(observationSpace.kind)]: spaceSchema(observationSpace),
      ...(hasScore && scoreSchemas),
      ...(hasObjective && { objective: orNull({ type: 'string' }, 'Objective of the player') }),
      ...endSchemas,
    }),
    state: objectOf(`State of ${id}`, {
      episode_id: orNull({ type: 'string' }),
      step_count: { type: 'integer', minimum: 0 },
      environment: { type: 'string' },
      seed: orNull({ type: 'integer', minimum: 0 }),
      episode_return: { type: 'number', description: "Sum of the current episode's rewards" },
      ...endSchemas,
    }),
  };
}

const endSchemas = {
  terminated: { type: 'boolean', description: 'The task has ended' },
  truncated: { type: 'boolean', description: 'The step limit cut the episode short' },
} as const;

const scoreSchemas = {
  score: { type: 'number' },
  max_score: orNull({ type: 'number' }, 'Maximum score'),
  won: { type: 'boolean' },
  lost: { type: 'boolean' },
  moves: orNull({ type: 'integer' }, 'Number of valid commands'),
  admissible: orNull({ type: 'array', items: { type: 'string' } }, 'Commands that have an effect now'),
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

/** Omits infinite bounds, which JSON can't represent. */
function boundsOf({ high, low }: BoxSpace, at: number): Schema {
  return {
    type: 'number',
    ...(Number.isFinite(low[at]) && { minimum: low[at] }),
    ...(Number.isFinite(high[at]) && { maximum: high[at] }),
  };
}

function openApi({ id }: DescribedEnvironment) {
  const operations = Object.entries(routes).map(([path, { method, summary }]) => {
    const responses = { 200: { description: 'Success' }, 422: { description: 'Invalid request' } };
    return [path, { [method.toLowerCase()]: { summary, responses } }] as const;
  });
  return {
    openapi: '3.1.0',
    info: { title: `OpenEnv environment ${id}`, version: version() },
    paths: Object.fromEntries(operations),
  };
}
