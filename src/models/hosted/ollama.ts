import { isIPv6 } from 'node:net';
import { type ChatRequest, Ollama } from 'ollama';
import { z } from 'zod';
import type { CommandContext } from '../../base/context.js';
import { isObject } from '../../base/modules/user-module.js';
import { answerSchema, autoSchemaOptions } from '../answer-schema.js';
import {
  type ChatMessage,
  type Completion,
  type GenerateOptions,
  type LanguageModel,
  lowestLimit,
  resolveSampling,
  type Usage,
} from '../language-model.js';
import { contextHint, maxPromptTokens, maxTextTokens } from '../reply-faults.js';
import { withoutSecrets } from '../secrets.js';
import type { OllamaConfig } from '../settings.js';
import { jsonFetch } from './json-fetch.js';
import { extractCredentials, parseServerUrl } from './openai-access.js';
import { completionsOf, readChatCompletion } from './openai-reply.js';
import { AttemptError, callWithRetries, type RetriedCall, type Wait } from './retry.js';

/** Response to `show`; in `model_info`, `<architecture>.context_length` is the context length. */
const showSchema = z.object({
  model_info: z.record(z.string(), z.unknown()),
  capabilities: z.array(z.string()).nullish(),
  template: z.string().nullish(),
  modelfile: z.string().nullish(),
});

/** The server reloads the model when the context window changes, so the window grows in steps of this many tokens. */
const contextStep = 2048;

/** The server ignores bounds on numbers, but obeys a list of allowed numbers. */
const schemaOptions = { maxChoices: 1000, maxReasonChars: 2000 } as const;

/** Creates a model on an Ollama server. @throws UserError if the host isn't a valid address */
export function createOllama(config: OllamaConfig, env: CommandContext['env'], wait: Wait): LanguageModel {
  const host = parseHost(config, env);
  const id = `ollama/${config.name}`;
  const login = extractCredentials(host);
  const headers = login === undefined ? {} : { authorization: login.authorization };
  const secrets = [env.OLLAMA_API_KEY ?? '', ...(login?.secrets ?? [])];
  const server = { isReached: false };
  /** Context window to request, up to the model's own; never shrinks (see contextStep). */
  let contextTokens = config.contextTokens ?? 0;
  /** The model's own context length, once the server has reported it. */
  let modelTokens: number | undefined;
  let canThink = false;
  /** Set if the model's template drops system messages. */
  let warning: string | undefined;
  /** False once the server has rejected a schema under `format: auto`. */
  let acceptsSchema = true;
  const expect = (promptTokens: number) => {
    if (config.contextTokens !== undefined) return;
    const neededTokens = Math.ceil((promptTokens + config.maxTokens) / contextStep) * contextStep;
    contextTokens = Math.max(contextTokens, neededTokens);
  };

  const call = <T>(
    options: Pick<RetriedCall<T>, 'seed' | 'signal' | 'attempts'>,
    ask: (client: Ollama) => Promise<T>,
  ) =>
    callWithRetries({
      ...options,
      id,
      retryPolicy: config,
      wait,
      secrets,
      server,
      async attempt(signal) {
        // The client has no option for a signal, so add it here.
        const fetch: typeof jsonFetch = (url, init) => jsonFetch(url, { ...init, signal });
        try {
          return await ask(new Ollama({ host: host.href, headers, fetch }));
        } catch (error) {
          throw addHint(error, config, host, lowestLimit(contextTokens, modelTokens)!);
        }
      },
    });

  return {
    id,
    expect,
    async context(signal) {
      if (modelTokens === undefined) {
        const { value } = await call({ seed: 0, signal }, (client) => client.show({ model: config.name }));
        const { data } = showSchema.safeParse(value);
        const info = Object.entries(data?.model_info ?? {});
        const length = info.find(([key]) => key.endsWith('.context_length'))?.[1];
        if (typeof length === 'number') modelTokens = length;
        canThink = data?.capabilities?.includes('thinking') ?? false;
        if (data !== undefined && dropsSystem(data)) warning = templateWarning(config.name);
      }
      const tokens = lowestLimit(modelTokens, config.contextTokens);
      if (tokens === undefined) return undefined;
      return { tokens, ...(warning !== undefined && { warning }) };
    },
    async generate(messages, options) {
      const { attempts, grammar, seeds, signal } = options;
      expect(maxPromptTokens(messages));
      const window = lowestLimit(contextTokens, modelTokens)!;
      const maxTokens = lowestLimit(config.maxTokens, options.maxTokens)!;
      let format: ChatRequest['format'];
      let isLoop = false;
      const { value, attemptInfo } = await call({ seed: seeds[0]!, signal, attempts }, async (client) => {
        // A thinking model isn't constrained: Ollama would need two requests and wouldn't count the thoughts.
        const isEnforced = config.format !== 'text' && acceptsSchema && !(config.think ?? canThink);
        format =
          isEnforced && grammar
            ? answerSchema(grammar, config.format === 'auto' ? autoSchemaOptions : schemaOptions)
            : undefined;
        try {
          const request = chatRequest({ ...config, maxTokens }, messages, options, window, format);
          const response: unknown = await client.chat(request);
          // After more than thirty identical tokens in a row, Ollama ends the reply without token counts.
          isLoop = isObject(response) && response.done === false;
          return readChatCompletion(toChatCompletion(response));
        } catch (error) {
          if (config.format !== 'auto' || format === undefined || !refusesSchema(error)) throw error;
          acceptsSchema = false;
          throw new AttemptError(error.kind, error.message, undefined, true);
        }
      });
      const warnings = warning === undefined ? [] : [warning];
      const sentPrompt = { messages, maxTokens, window };
      const completion = completionsOf(value, sentPrompt, { ...attemptInfo, warnings })[0]!;
      // A model may think even if the server doesn't list this capability.
      if (completion.reasoning !== undefined) canThink = true;
      const faults = completion.faults?.map((one) => (isLoop && one === 'usage-missing' ? 'loop' : one));
      const usedFormat = format === undefined ? ('text' as const) : ('json_schema' as const);
      const result = {
        ...completion,
        usage: addReasoning(completion.usage, completion),
        ...(faults && { faults }),
        ...(config.format === 'auto' && grammar && { format: usedFormat }),
      };
      return [withoutSecrets(result, secrets)];
    },
  };
}

/** True if the template drops system messages. Newer models have a renderer, so Ollama doesn't use their template. */
const dropsSystem = ({ modelfile, template }: z.output<typeof showSchema>): boolean =>
  (template ?? '') !== '' && !/\.(System|Messages)\b/.test(template!) && !/^RENDERER /m.test(modelfile ?? '');

const templateWarning = (name: string) =>
  `the template of ${name} uses neither .System nor .Messages: the server drops the system message, which contains the task. ` +
  `Recreate the model with a TEMPLATE for its family in the Modelfile (\`ollama show ${name} --modelfile\` prints the current one)`;

const refusesSchema = (error: unknown): error is AttemptError =>
  error instanceof AttemptError &&
  ['bad-request', 'server'].includes(error.kind) &&
  /format|grammar|schema/i.test(error.message);

/** Undefined fields are omitted from the JSON. */
function chatRequest(
  config: OllamaConfig,
  messages: readonly ChatMessage[],
  { sampling, seeds }: GenerateOptions,
  contextTokens: number,
  format: ChatRequest['format'],
): ChatRequest & { stream: false } {
  const { temperature, topP, topK, minP, repetitionPenalty } = resolveSampling(config, sampling);
  return {
    model: config.name,
    messages: messages.map(({ role, content }) => ({ role, content })),
    stream: false,
    // Without truncation and shifting, Ollama rejects a prompt that is too long, and a full context ends the reply.
    truncate: false,
    shift: false,
    format,
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

/** Converts the response of `/api/chat` to the shape of OpenAI's. */
function toChatCompletion(response: unknown): unknown {
  if (!isObject(response) || response.message === undefined) return response;
  const { done, done_reason, eval_count, message, prompt_eval_count } = response;
  return {
    choices: [{ message, finish_reason: done_reason }],
    usage: done !== false && { prompt_tokens: prompt_eval_count, completion_tokens: eval_count },
  };
}

/** Estimates reasoning tokens: Ollama reports one count for thoughts and text, which is split by their lengths. */
function addReasoning(usage: Usage, { reasoning, text }: Pick<Completion, 'reasoning' | 'text'>): Usage {
  if (reasoning === undefined) return usage;
  const [thinking, answer] = [maxTextTokens(reasoning), maxTextTokens(text)];
  const { completionTokens = thinking + answer } = usage;
  return { ...usage, reasoningTokens: Math.round((completionTokens * thinking) / (thinking + answer)) };
}

function addHint(error: unknown, config: OllamaConfig, host: URL, contextTokens: number): unknown {
  if (!(error instanceof AttemptError)) return error;
  const { kind, message } = error;
  if (kind === 'network')
    return new AttemptError(kind, `${message}. Start the server with \`ollama serve\`, or set model.host`);
  if (kind === 'too-long' || (kind === 'bad-request' && /exceeds (?:(?!exceeds).)*context/i.test(message)))
    return new AttemptError('too-long', `${message} ${contextHint(contextTokens)}`);
  if (kind === 'bad-request' && /does not support thinking/.test(message))
    return new AttemptError(kind, `${message}; set model.think=false, or remove model.think`);
  if (kind !== 'not-found') return error;
  const hint = /model/i.test(message)
    ? `download the model with \`ollama pull ${config.name}\``
    : `${host.origin} doesn't seem to be an Ollama server: check model.host`;
  return new AttemptError(kind, `${message}; ${hint}`);
}

/** Parses a host as Ollama does: quotes, scheme, port, IPv6 brackets and the name before a port are optional. */
export function parseHost(config: Pick<OllamaConfig, 'host'>, env: CommandContext['env']): URL {
  const variable = env.OLLAMA_HOST?.replaceAll(/^[\s"']+|(?<![\s"'])[\s"']+$/g, '');
  const hostText = config.host ?? (variable || '127.0.0.1');
  const [, login = '', place = '', path = ''] = /^(.*@)?([^/]*)(.*)/s.exec(hostText)!;
  const host = isIPv6(place) ? `[${place}]` : place.startsWith(':') ? `127.0.0.1${place}` : place;
  const portSuffix = /:\d+$/.test(host) ? '' : ':11434';
  const address = hostText.includes('://') ? hostText : `http://${login}${host}${portSuffix}${path}`;
  const url = parseServerUrl(address, 'model.host', config.host === undefined ? 'OLLAMA_HOST' : undefined);
  // A server can listen on 0.0.0.0, but clients can't connect to it on every system.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  return url;
}
