import { isIPv6 } from 'node:net';
import { type ChatRequest, Ollama } from 'ollama';
import { z } from 'zod';
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { answerSchema, autoSchema } from '../answer-schema.js';
import {
  type ChatMessage,
  chosenSampling,
  type GenerateOptions,
  type LanguageModel,
  lowestLimit,
} from '../language-model.js';
import { mostTokens } from '../reply-faults.js';
import { withoutSecrets } from '../secrets.js';
import type { OllamaConfig } from '../settings.js';
import { jsonFetch } from './json-fetch.js';
import { contextHint, PromptFloor, readCompletion, readResponse } from './ollama-reply.js';
import { loginOf } from './openai-access.js';
import { type Call, callWithRetries, recorded, TryFailure, type Wait } from './retry.js';

/** The reply to `show`; in `model_info`, `<architecture>.context_length` is the context length. */
const modelSchema = z.object({
  model_info: z.record(z.string(), z.unknown()),
  capabilities: z.array(z.string()).nullish(),
  template: z.string().nullish(),
  modelfile: z.string().nullish(),
});

/** The server reloads the model when the context window changes, so the window grows in steps of this many tokens. */
const contextStep = 2048;

/** The server ignores bounds on numbers, but obeys a list of allowed numbers. */
const jsonSchema = { longestList: 1000, longestReason: 2000 } as const;

/** Creates a model on an Ollama server. @throws UserError if the host isn't a valid address */
export function createOllama(config: OllamaConfig, env: CommandContext['env'], wait: Wait): LanguageModel {
  const host = readHost(config, env);
  const id = `ollama/${config.name}`;
  const login = loginOf(host);
  [host.username, host.password] = ['', ''];
  const headers = login === undefined ? {} : { authorization: login.authorization };
  const secrets = [env.OLLAMA_API_KEY ?? '', ...(login?.secrets ?? [])];
  const server = { isReached: false };
  /** Context window to request; never shrinks (see contextStep). */
  let contextTokens = config.contextTokens ?? 0;
  /** The model's own context length, once the server has reported it. */
  let ownTokens: number | undefined;
  let thinks = false;
  /** Set if the model's template drops system messages. */
  let warning: string | undefined;
  /** False once the server has rejected a schema for the answer. */
  let takesSchema = true;
  const willThink = () => Boolean(config.think ?? thinks);
  /** `auto` enforces no format on thinking models: Ollama would need two requests and not count the thoughts. */
  const isEnforced = () =>
    config.format === 'json' || (config.format === 'auto' && takesSchema && !willThink());
  const floor = new PromptFloor();
  const expect = (promptTokens: number) => {
    if (config.contextTokens !== undefined) return;
    // If the answer format is enforced, the thoughts are sent again in a second prompt, so reserve room for both.
    const reply = (isEnforced() && willThink() ? 2 : 1) * config.maxTokens;
    const needed = Math.ceil((promptTokens + reply) / contextStep) * contextStep;
    contextTokens = Math.max(contextTokens, needed);
  };

  const call = <T>(
    options: Pick<Call<T>, 'seed' | 'signal' | 'attempts'>,
    ask: (client: Ollama) => Promise<T>,
  ) =>
    callWithRetries({
      ...options,
      id,
      policy: config,
      wait,
      secrets,
      server,
      async attempt(signal) {
        // The client has no option for a signal, so add it here.
        const fetch: typeof jsonFetch = (url, init) => jsonFetch(url, { ...init, signal });
        try {
          return await ask(new Ollama({ host: host.href, headers, fetch }));
        } catch (error) {
          throw withHint(error, config, host, lowestLimit(contextTokens, ownTokens)!);
        }
      },
    });

  return {
    id,
    expect,
    async context(signal) {
      if (ownTokens === undefined) {
        const { value } = await call({ seed: 0, signal }, (client) => client.show({ model: config.name }));
        const { data } = modelSchema.safeParse(value);
        ownTokens = ownContext(data?.model_info);
        thinks = data?.capabilities?.includes('thinking') ?? false;
        if (data !== undefined && dropsSystem(data)) warning = templateWarning(config.name);
      }
      const tokens = lowestLimit(ownTokens, config.contextTokens);
      if (tokens === undefined) return undefined;
      return { tokens, ...(thinks && { thinks }), ...(warning !== undefined && { warning }) };
    },
    async generate(messages, options) {
      const { attempts, grammar, seeds, signal } = options;
      expect(mostTokens(messages));
      const window = lowestLimit(contextTokens, ownTokens)!;
      const maxTokens = lowestLimit(config.maxTokens, options.maxTokens)!;
      let request: ChatRequest & { stream: false };
      const { value, ...outcome } = await call({ seed: seeds[0]!, signal, attempts }, async (client) => {
        request = chatRequest({ ...config, maxTokens }, messages, options, window, isEnforced());
        try {
          return readResponse(await client.chat(request));
        } catch (error) {
          if (config.format !== 'auto' || !refusesSchema(error, request)) throw error;
          takesSchema = false;
          throw new TryFailure(error.kind, error.message, { isAvoided: true });
        }
      });
      const isConstrained = request!.format !== undefined;
      const sent = { messages, maxTokens, window, floor: floor.of(messages), isConstrained };
      const reading = readCompletion(value, sent);
      // If the model thought, the count may be from a second request, whose prompt includes the thoughts.
      if (!reading.faults && reading.usage.promptTokens !== undefined && reading.reasoning === undefined)
        floor.remember(messages, reading.usage.promptTokens);
      // A model may think even if the server doesn't list this capability.
      if (reading.reasoning !== undefined) thinks = true;
      const format = isConstrained ? ('json_schema' as const) : ('text' as const);
      const completion = {
        ...reading,
        ...(config.format === 'auto' && grammar && { format }),
        ...recorded(outcome),
        ...(warning !== undefined && { warnings: [...(reading.warnings ?? []), warning] }),
      };
      return [withoutSecrets(completion, secrets)];
    },
  };
}

/** Whether the template drops system messages. Newer models have a renderer, so Ollama doesn't use their template. */
const dropsSystem = ({ modelfile, template }: z.output<typeof modelSchema>): boolean =>
  (template ?? '') !== '' && !/\.(System|Messages)\b/.test(template!) && !/^RENDERER /m.test(modelfile ?? '');

const templateWarning = (name: string) =>
  `the template of ${name} uses neither .System nor .Messages: the server drops the system message, which contains the task. ` +
  `Recreate the model with a TEMPLATE for its family in the Modelfile (\`ollama show ${name} --modelfile\` prints the current one)`;

const refusesSchema = (error: unknown, { format }: ChatRequest): error is TryFailure =>
  format !== undefined &&
  error instanceof TryFailure &&
  ['bad-request', 'server'].includes(error.kind) &&
  /format|grammar|schema/i.test(error.message);

function ownContext(modelInfo: Readonly<Record<string, unknown>> = {}): number | undefined {
  const info = Object.entries(modelInfo);
  const length = info.find(([key]) => key.endsWith('.context_length'))?.[1];
  return typeof length === 'number' ? length : undefined;
}

/** Undefined fields are omitted from the JSON. */
function chatRequest(
  config: OllamaConfig,
  messages: readonly ChatMessage[],
  { grammar, sampling, seeds }: GenerateOptions,
  contextTokens: number,
  isEnforced: boolean,
): ChatRequest & { stream: false } {
  const { temperature, topP, topK, minP, repetitionPenalty } = chosenSampling(config, sampling);
  return {
    model: config.name,
    messages: messages.map(({ role, content }) => ({ role, content })),
    stream: false,
    // Without truncation and shifting, Ollama rejects a prompt that is too long, and a full context ends the reply.
    truncate: false,
    shift: false,
    format:
      isEnforced && grammar
        ? answerSchema(grammar, config.format === 'auto' ? autoSchema : jsonSchema)
        : undefined,
    think: config.think,
    // Ollama reads a number without a unit as seconds, but rejects it if it is a string.
    keep_alive: /^-?\d+$/.test(config.keepAlive ?? '') ? Number(config.keepAlive) : config.keepAlive,
    options: {
      num_ctx: contextTokens,
      num_predict: config.maxTokens,
      seed: seeds[0]!,
      temperature,
      top_p: topP,
      top_k: topK,
      min_p: minP,
      // Ollama's default would penalise repeated numbers.
      repeat_penalty: repetitionPenalty ?? 1,
    },
  } as ChatRequest & { stream: false };
}

function withHint(error: unknown, config: OllamaConfig, host: URL, contextTokens: number): unknown {
  if (!(error instanceof TryFailure)) return error;
  const { kind, message } = error;
  if (kind === 'network')
    return new TryFailure(kind, `${message}. Start the server with \`ollama serve\`, or set model.host`);
  if (kind === 'too-long' || (kind === 'bad-request' && /exceeds .*context/i.test(message)))
    return new TryFailure('too-long', `${message} ${contextHint(contextTokens)}`);
  if (kind === 'bad-request' && /does not support thinking/.test(message))
    return new TryFailure(kind, `${message}; set model.think=false, or remove model.think`);
  if (kind !== 'not-found') return error;
  const hint = /model/i.test(message)
    ? `download the model with \`ollama pull ${config.name}\``
    : `${host.origin} doesn't seem to be an Ollama server: check model.host`;
  return new TryFailure(kind, `${message}; ${hint}`);
}

/** Parses a host as Ollama's client does: the scheme, the port and IPv6 brackets are optional. */
export function readHost(config: Pick<OllamaConfig, 'host'>, env: CommandContext['env']): URL {
  const variable = env.OLLAMA_HOST?.trim().replaceAll(/^["']+|["']+$/g, '');
  const given = config.host ?? (variable?.trim() || '127.0.0.1');
  const [, scheme, login = '', place = '', rest = ''] = /^(?:(\w+):\/\/)?(.*@)?([^/]*)(.*)$/s.exec(given)!;
  const bare = place.replaceAll(/^\[|\]$/g, '');
  const host = isIPv6(bare)
    ? `[${bare}]`
    : place.replace(scheme === undefined ? /^(?=:|$)/ : /^(?=:)/, '127.0.0.1');
  const port = scheme === undefined && !/:\d+$/.test(host) ? ':11434' : '';
  const complete =
    given === 'ollama.com' ? 'https://ollama.com' : `${scheme ?? 'http'}://${login}${host}${port}${rest}`;
  const url = URL.canParse(complete) ? new URL(complete) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UserError({
      message: `${config.host === undefined ? 'OLLAMA_HOST' : 'this'} is not a valid address`,
      field: 'model.host',
      // Don't show a login, which even an invalid address may contain.
      ...(!given.includes('@') && { value: given }),
      hint: 'use the full URL, e.g. http://127.0.0.1:11434',
    });
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1';
  return url;
}
