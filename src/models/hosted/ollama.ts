import { isIPv6 } from 'node:net';
import { type ChatRequest, Ollama } from 'ollama';
import { z } from 'zod';
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import {
  type ChatMessage,
  chosenSampling,
  type GenerateOptions,
  type LanguageModel,
  lowestLimit,
} from '../language-model.js';
import { imageTokens, mostTokens } from '../reply-faults.js';
import { withoutSecrets } from '../secrets.js';
import type { OllamaConfig } from '../settings.js';
import { answerSchema, autoSchema } from './answer-schema.js';
import { jsonFetch } from './json-fetch.js';
import { contextRemedy, PromptFloor, readCompletion, readResponse } from './ollama-reply.js';
import { loginOf } from './openai-access.js';
import { type Call, callWithRetries, TryFailure, type Wait } from './retry.js';
import { createRate } from './shared-rate.js';

/** The reply of `show`; the context length is under `<architecture>.context_length`. */
const modelSchema = z.object({
  model_info: z.record(z.string(), z.unknown()),
  capabilities: z.array(z.string()).nullish(),
  template: z.string().nullish(),
  modelfile: z.string().nullish(),
});

/** The server reloads the model when the context window changes, so it grows in steps of this many tokens. */
const contextStep = 2048;

/** The server ignores bounds of numbers, but respects a list of them. */
const jsonSchema = { longestList: 1000, longestReason: 2000 } as const;

/** A model of an Ollama server. @throws UserError if the host is not an address */
export function createOllama(config: OllamaConfig, env: CommandContext['env'], wait: Wait): LanguageModel {
  const host = readHost(config, env);
  const id = `ollama/${config.name}`;
  const secrets = [env.OLLAMA_API_KEY ?? '', ...(loginOf(host)?.secrets ?? [])];
  const server = { isReached: false };
  const rate = createRate(config.requestsPerMinute, [host.href, config.name]);
  /** Only ever grows: see contextStep. */
  let contextTokens = config.contextTokens ?? 0;
  /** The model's own, once the server has reported it. */
  let ownTokens: number | undefined;
  let thinks = false;
  /** A problem with the model's template. */
  let warning: string | undefined;
  /** Whether the server accepts a schema. */
  let takesSchema = true;
  /** A thinking model is asked twice if the format is enforced, and its thoughts aren't counted. */
  const isEnforced = () =>
    config.format === 'json' || (config.format === 'auto' && takesSchema && !(config.think ?? thinks));
  const floor = new PromptFloor();
  const expect = (promptTokens: number) => {
    if (config.contextTokens !== undefined) return;
    // If the answer format is enforced, the thoughts become part of a second prompt.
    const isTwice = isEnforced() && (config.think ?? thinks);
    const reply = (isTwice ? 2 : 1) * config.maxTokens;
    const needed = Math.ceil((promptTokens + reply) / contextStep) * contextStep;
    contextTokens = Math.max(contextTokens, needed);
  };

  const call = <T>(
    options: Pick<Call<T>, 'seed' | 'signal' | 'mayTryAgain' | 'rate' | 'turns'>,
    ask: (client: Ollama) => Promise<T>,
  ) =>
    callWithRetries({
      ...{ ...options, id, policy: config, wait, secrets, server },
      async attempt(signal) {
        // The client passes on no signal of its own.
        const fetch: typeof jsonFetch = (url, init) => jsonFetch(url, { ...init, signal });
        try {
          return await ask(new Ollama({ host: host.href, fetch }));
        } catch (error) {
          throw withRemedy(error, config, host, lowestLimit(contextTokens, ownTokens)!);
        }
      },
    });

  return {
    id,
    rate,
    close: async () => rate?.close(),
    seesImages: true,
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
      const { images = [], seeds, signal, mayTryAgain } = options;
      expect(mostTokens(messages) + images.length * imageTokens);
      const window = lowestLimit(contextTokens, ownTokens)!;
      const maxTokens = lowestLimit(config.maxTokens, options.maxTokens)!;
      const requestNow = () => chatRequest({ ...config, maxTokens }, messages, options, window, isEnforced());
      let request = requestNow();
      const { latencyMs, retries, failedTries, value } = await call(
        { seed: seeds[0]!, signal, mayTryAgain, rate, turns: options },
        async (client) => {
          request = requestNow();
          try {
            return readResponse(await client.chat(request));
          } catch (error) {
            if (config.format !== 'auto' || !refusesSchema(error, request)) throw error;
            takesSchema = false;
            request = requestNow();
            return readResponse(await client.chat(request));
          }
        },
      );
      const reading = readCompletion(value, {
        ...{ messages, images: images.length, maxTokens, window },
        // The tokens of pictures show in no text.
        floor: images.length > 0 ? 0 : floor.of(messages),
        isConstrained: request.format !== undefined,
      });
      const { faults = [], reasoning, usage } = reading;
      // With thoughts, the count may be that of a second request, which has them in its prompt.
      if (images.length + faults.length === 0 && usage.promptTokens !== undefined && reasoning === undefined)
        floor.remember(messages, usage.promptTokens);
      // It may think without having said that it can.
      if (reasoning !== undefined) thinks = true;
      const format = request.format === undefined ? ('text' as const) : ('json_schema' as const);
      const completion = {
        ...reading,
        ...(config.format === 'auto' && options.grammar && { format }),
        ...{ latencyMs, retries, ...(failedTries.length > 0 && { failedTries }) },
        ...(warning !== undefined && { warnings: [...(reading.warnings ?? []), warning] }),
      };
      return [withoutSecrets(completion, secrets)];
    },
  };
}

/** Ollama falls back to its own template only if the model has none; newer models have a renderer instead. */
const dropsSystem = ({ modelfile, template }: z.output<typeof modelSchema>): boolean =>
  (template ?? '') !== '' && !/\.(System|Messages)\b/.test(template!) && !/^RENDERER /m.test(modelfile ?? '');

const templateWarning = (name: string) =>
  `the template of ${name} uses neither .System nor .Messages: the server drops the system message, which holds the task. ` +
  `Make the model again with a TEMPLATE for its family in the Modelfile (\`ollama show ${name} --modelfile\` prints the present one)`;

/** Whether the server fails because of the schema. */
const refusesSchema = (error: unknown, { format }: ChatRequest): boolean =>
  format !== undefined &&
  error instanceof TryFailure &&
  ['bad-request', 'server'].includes(error.kind) &&
  /format|grammar|schema/i.test(error.message);

function ownContext(modelInfo: Readonly<Record<string, unknown>> = {}): number | undefined {
  const info = Object.entries(modelInfo);
  const length = info.find(([key]) => key.endsWith('.context_length'))?.[1];
  return typeof length === 'number' ? length : undefined;
}

/** JSON omits undefined fields. */
function chatRequest(
  config: OllamaConfig,
  messages: readonly ChatMessage[],
  { grammar, images = [], sampling, seeds, stop }: GenerateOptions,
  contextTokens: number,
  isEnforced: boolean,
): ChatRequest & { stream: false } {
  const { temperature, topP, topK, minP, repetitionPenalty } = chosenSampling(config, sampling);
  return {
    model: config.name,
    messages: messages.map(({ role, content }, i) => ({
      ...{ role, content },
      ...(i === messages.length - 1 &&
        images.length > 0 && { images: images.map((image) => Buffer.from(image).toString('base64')) }),
    })),
    stream: false,
    // A prompt that is too long is refused then, and a reply ends where the context does: nothing is lost unseen.
    truncate: false,
    shift: false,
    format:
      isEnforced && grammar
        ? answerSchema(grammar, config.format === 'auto' ? autoSchema : jsonSchema)
        : undefined,
    think: config.think,
    // A number without a unit is one of seconds, which Ollama takes from numbers only.
    keep_alive: /^-?\d+$/.test(config.keepAlive ?? '') ? Number(config.keepAlive) : config.keepAlive,
    options: {
      num_ctx: contextTokens,
      num_predict: config.maxTokens,
      seed: seeds[0]!,
      temperature,
      top_p: topP,
      top_k: topK,
      min_p: minP,
      // Ollama's own default punishes numbers that occur again.
      repeat_penalty: repetitionPenalty ?? 1,
      stop: stop && [...stop],
    },
  } as ChatRequest & { stream: false };
}

function withRemedy(error: unknown, config: OllamaConfig, host: URL, contextTokens: number): unknown {
  if (!(error instanceof TryFailure)) return error;
  const { kind, message } = error;
  if (kind === 'network')
    return new TryFailure(kind, `${message}. Start the server with \`ollama serve\`, or set model.host`);
  if (kind === 'too-long' || (kind === 'bad-request' && /exceeds .*context/i.test(message)))
    return new TryFailure('too-long', `${message} ${contextRemedy(contextTokens)}`);
  if (kind === 'bad-request' && /does not support thinking/.test(message))
    return new TryFailure(kind, `${message}; set model.think=false, or leave model.think out`);
  if (kind !== 'not-found') return error;
  const remedy = /model/i.test(message)
    ? `get the model with \`ollama pull ${config.name}\``
    : `${host.origin} does not seem to be an Ollama server: check model.host`;
  return new TryFailure(kind, `${message}; ${remedy}`);
}

/** The address in a host by the rules of Ollama's client: scheme, port and IPv6 brackets are optional. */
export function readHost(config: Pick<OllamaConfig, 'host'>, env: CommandContext['env']): URL {
  const given =
    config.host ??
    (env.OLLAMA_HOST?.trim()
      .replaceAll(/^["']+|["']+$/g, '')
      .trim() ||
      '127.0.0.1');
  const [, scheme, login = '', place = '', rest = ''] = /^(?:(\w+):\/\/)?(.*@)?([^/]*)(.*)$/s.exec(given)!;
  const bare = place.replaceAll(/^\[|\]$/g, '');
  const host = isIPv6(bare)
    ? `[${bare}]`
    : place.replace(scheme === undefined ? /^(?=:|$)/ : /^(?=:)/, '127.0.0.1');
  const port = scheme === undefined && !/:\d+$/.test(host) ? ':11434' : '';
  const complete =
    given === 'ollama.com' ? 'https://ollama.com' : `${scheme ?? 'http'}://${login}${host}${port}${rest}`;
  const url = URL.canParse(complete) ? new URL(complete) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError({
      message: config.host === undefined ? 'OLLAMA_HOST is not an address' : 'this is not an address',
      field: 'model.host',
      // A text that is no address may still hold a login.
      ...(!given.includes('@') && { value: given }),
      remedy: 'give it in full, e.g. http://127.0.0.1:11434',
    });
  }
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1';
  return url;
}
