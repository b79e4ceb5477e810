/** Samples with the parameters being trained. They are inputs of the inference graph, so updates need no reload. */
import { type Conversation, messagesOf, type Reply, type Speaker } from '../../src/agents/speaker.js';
import { UserError } from '../../src/base/errors.js';
import { groupBy } from '../../src/base/grouped.js';
import { type AnswerGrammar, type ChatMessage, plainSampling } from '../../src/models/language-model.js';
import type { Constraint } from '../../src/models/local/constraint/constraint.js';
import { ort } from '../../src/models/local/engine/onnx-runtime.js';
import { openSession } from '../../src/models/local/engine/runtime.js';
import { createConstraintCache, opensThinking } from '../../src/models/local/generation/engine.js';
import { TextGenerator } from '../../src/models/local/generation/generation.js';
import { buildInferenceGraph } from '../../src/models/local/graph/decoder.js';
import type { GraphBuilder } from '../../src/models/local/graph/graph.js';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { type TrainableSpec, trainedParameters, trainedSource } from './trainable.js';
import { guardMemory, type Parameter } from './training-session.js';

export interface SampledReply extends Reply {
  readonly promptIds: readonly number[];
  /** Includes the end-of-sequence token, unless the reply was truncated. */
  readonly ids: readonly number[];
  /** Natural log-probabilities among the ids in `allowed`, at the sampling temperature (or at 1 if that is 0). */
  readonly logp: readonly number[];
  /** For each token, the ids to which a constraint limited the choice (possibly just one); null without such a list. */
  readonly allowed: readonly (readonly number[] | null)[];
  readonly isComplete: boolean;
}

interface Prompt {
  readonly messages: readonly ChatMessage[];
  readonly grammar?: AnswerGrammar | undefined;
  readonly seed: number;
}

export interface Sampler extends Speaker<SampledReply> {
  /** Sets the parameters to sample with, and drops cached values. Ignores an objective's own parameters. */
  refresh(parameters: readonly Parameter[]): void;
  reply(conversations: readonly Conversation<SampledReply>[]): Promise<readonly SampledReply[]>;
  /** Returns no replies if aborted. */
  answer(prompts: readonly Prompt[], aborted?: () => boolean): Promise<readonly SampledReply[]>;
  close(): Promise<void>;
}

export interface SamplerSettings {
  readonly config: DecoderConfig;
  readonly trainable: TrainableSpec;
  readonly tokenizer: ChatTokenizer;
  readonly eosTokens: ReadonlySet<number>;
  readonly device: string;
  readonly threads: number;
  readonly temperature: number;
  readonly maxTokens: number;
  /** If true, replies in a conversation are constrained to its choices. */
  readonly constrained: boolean;
}

/** Maximum number of prompts decoded together; fewer if they are long. */
const maxPrompts = 64;

/** @throws UserError if memory runs out */
export async function openSampler(settings: SamplerSettings): Promise<Sampler> {
  const { config, constrained, trainable, tokenizer, eosTokens, device, threads, temperature } = settings;
  const parametersOf = (g: GraphBuilder) => trainedSource(g, config, trainable, 'float32', false);
  const graph = buildInferenceGraph(config, parametersOf, device);
  const open = () => openSession(graph, config, { device, threads });
  const session = await guardMemory('loading the sampler', open);
  const generator = new TextGenerator(session, config, tokenizer.bytes, maxPrompts);
  const names = new Set(trainedParameters(config, trainable).map(({ name }) => name));
  const constraints = createConstraintCache(tokenizer, config, eosTokens);
  const encode = createEncoder(tokenizer);
  let inputs: Readonly<Record<string, ort.Tensor>> = {};
  const sample = async (batch: readonly Query[], aborted = () => false): Promise<readonly SampledReply[]> => {
    const groups = [...groupBy(batch, ({ ids, constraintKey }) => `${constraintKey} ${ids.join()}`).values()];
    const requests = groups.map((members) => {
      const { constraint, ids: prompt } = members[0]!;
      const maxTokens = maxReplyTokens(prompt, settings);
      if (constraint !== undefined && maxTokens < constraint.answerTokens)
        throw new UserError({
          field: 'maxTokens',
          value: maxTokens,
          message: `an answer may need ${constraint.answerTokens} tokens, but only ${maxTokens} are allowed or fit into the context`,
          hint: `raise agent.maxTokens or answers.maxTokens, ${shorterPromptHint}`,
        });
      return {
        prompt,
        maxTokens,
        eosTokens,
        adapter: inputs,
        seeds: members.map(({ seed }) => seed),
        sampling: { ...plainSampling, temperature },
        sampledLogProbabilities: true,
        readTogether: true,
        ...(constraint && { constraint }),
      };
    });
    const results = await Promise.allSettled(
      requests.map((request) => generator.generate(request, { isAborted: aborted })),
    );
    if (aborted()) return [];
    const replies = new Map<Query, SampledReply>();
    for (const [group, result] of results.entries()) {
      if (result.status === 'rejected') throw result.reason;
      for (const [i, reply] of result.value.replies.entries())
        replies.set(groups[group]![i]!, {
          text: reply.text,
          promptIds: requests[group]!.prompt,
          ids: reply.ids,
          logp: reply.sampledLogProbabilities!,
          allowed: reply.allowed!,
          isComplete: reply.finishReason === 'stop',
        });
    }
    return batch.map((query) => replies.get(query)!);
  };
  return {
    refresh(parameters) {
      generator.clearCache();
      const tensorOf = ({ shape, values }: Parameter) =>
        new ort.Tensor('float32', values as Float32Array, [...shape]);
      const trained = parameters.filter(({ name }) => names.has(name));
      inputs = Object.fromEntries(trained.map((parameter) => [parameter.name, tensorOf(parameter)]));
    },
    reply: (conversations) =>
      sample(
        conversations.map((conversation) => {
          const texts = constrained ? conversation.choices?.map(({ text }) => text) : undefined;
          return {
            ids: promptIdsOf(tokenizer, encode, conversation),
            seed: conversation.seed,
            constraintKey: texts?.join('\n') ?? '',
            constraint: texts && constraints.forChoices(texts),
          };
        }),
      ),
    answer: (prompts, aborted) =>
      sample(
        prompts.map(({ messages, grammar, seed }) => ({
          ids: encode(messages),
          seed,
          constraintKey: JSON.stringify(grammar) ?? '',
          constraint: grammar && constraints.forGrammar(grammar, opensThinking(tokenizer, messages)),
        })),
        aborted,
      ),
    close: () => session.close(),
  };
}

interface Query {
  readonly ids: readonly number[];
  readonly seed: number;
  /** Identifies the constraint on the reply. Equal prompts with the same constraint are sampled together. */
  readonly constraintKey: string;
  readonly constraint?: Constraint | undefined;
}

type Encode = (messages: readonly ChatMessage[]) => readonly number[];

/** Maximum number of prompts whose tokens are cached; small environments repeat their prompts. */
const maxCachedPrompts = 1024;

function createEncoder(tokenizer: ChatTokenizer): Encode {
  const cache = new Map<string, readonly number[]>();
  return (messages) => {
    const key = JSON.stringify(messages);
    const ids = cache.get(key) ?? tokenizer.encodePrompt(messages);
    if (cache.size >= maxCachedPrompts) cache.clear();
    cache.set(key, ids);
    return ids;
  };
}

/** Encodes a conversation's next prompt. Reuses the sampled ids if the prompt contains the whole conversation. */
function promptIdsOf(
  tokenizer: ChatTokenizer,
  encode: Encode,
  conversation: Conversation<SampledReply>,
): readonly number[] {
  const messages = messagesOf(conversation);
  const lastReply = conversation.before.at(-1)?.reply;
  if (lastReply === undefined || !conversation.isComplete) return encode(messages);
  const nextIds = tokenizer.encodeNext(messages);
  // The template writes an end-of-sequence token even after a truncated reply, which has none.
  const repeatsEnd = lastReply.isComplete && nextIds[0] === lastReply.ids.at(-1);
  return [...lastReply.promptIds, ...lastReply.ids, ...(repeatsEnd ? nextIds.slice(1) : nextIds)];
}

const shorterPromptHint =
  'show less in the prompt (agent.history or experiment.memory), or use a model with a longer context';

/** @throws UserError if the prompt leaves no room for a reply */
function maxReplyTokens(prompt: readonly number[], { config, maxTokens }: SamplerSettings): number {
  const room = config.contextTokens - prompt.length;
  if (room >= 1) return Math.min(maxTokens, room);
  throw new UserError({
    message: `a prompt has ${prompt.length} tokens, which leaves no room for a reply in the context of ${config.contextTokens} tokens`,
    hint: shorterPromptHint,
  });
}
