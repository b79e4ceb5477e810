/**
 * Samples replies with the very parameters that are trained: the inference graph of the same decoder has them as inputs,
 * fed from the trainer's arrays, so that an update needs no reload.
 */
import { type Conversation, messagesOf, type Reply, type Speaker } from '../../src/agents/speaker.js';
import { UserError } from '../../src/base/errors.js';
import { groupedBy } from '../../src/comparison/run-groups.js';
import { plainSampling } from '../../src/models/language-model.js';
import { TextGenerator } from '../../src/models/local/engine/generation.js';
import { ort } from '../../src/models/local/engine/onnx-runtime.js';
import { openSession } from '../../src/models/local/engine/runtime.js';
import { buildInferenceGraph } from '../../src/models/local/graph/decoder.js';
import type { GraphBuilder } from '../../src/models/local/graph/graph.js';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { type Trainable, trainedParameters, trainedSource } from '../engine/trainable.js';
import { orOutOfMemory, type Parameter } from '../engine/training-session.js';

/** A reply by the token ids that were sampled. */
export interface SampledReply extends Reply {
  readonly promptIds: readonly number[];
  /** The token that ended it included. */
  readonly ids: readonly number[];
  /** Natural logarithms of the probabilities, at the temperature of the sampling. */
  readonly logp: readonly number[];
  /** Whether the model ended it itself. */
  readonly ended: boolean;
}

export interface SamplerSettings {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  readonly tokenizer: ChatTokenizer;
  /** Tokens that end a reply. */
  readonly eosTokens: ReadonlySet<number>;
  readonly device: string;
  readonly threads: number;
  readonly temperature: number;
  /** Longest reply. */
  readonly maxTokens: number;
}

export interface Sampler extends Speaker<SampledReply> {
  /**
   * To be called when parameters have changed: what was computed with the old ones is dropped. Those that are not the
   * model's, such as a value head, are left out.
   */
  refresh(parameters: readonly Parameter[]): void;
  close(): Promise<void>;
}

/** @throws UserError when memory runs out */
export async function openSampler(settings: SamplerSettings): Promise<Sampler> {
  const { config, trainable, tokenizer, eosTokens, device, threads, temperature } = settings;
  const parametersOf = (g: GraphBuilder) => trainedSource(g, config, trainable, 'float32', false);
  const graph = buildInferenceGraph(config, parametersOf, device);
  const session = await orOutOfMemory('loading the sampler', () =>
    openSession(graph, config, { device, threads }),
  );
  const generator = new TextGenerator(session, config, tokenizer.bytes);
  const names = new Set(trainedParameters(config, trainable).map(({ name }) => name));
  let inputs: Readonly<Record<string, ort.Tensor>> = {};
  return {
    refresh(parameters) {
      // The generator keeps prompts by this object: a new one has none.
      inputs = Object.fromEntries(
        parameters
          .filter(({ name }) => names.has(name))
          .map(({ name, shape, values }) => [
            name,
            new ort.Tensor('float32', values as Float32Array, [...shape]),
          ]),
      );
    },
    async reply(conversations) {
      const replies = new Map<Conversation<SampledReply>, SampledReply>();
      const prompts = new Map(conversations.map((one) => [one, promptOf(tokenizer, one)]));
      for (const alike of groupedBy(conversations, (one) => prompts.get(one)!.join()).values()) {
        const prompt = prompts.get(alike[0]!)!;
        const { answers } = await generator.generate(
          {
            prompt,
            adapter: inputs,
            seeds: alike.map(({ seed }) => seed),
            maxTokens: roomFor(prompt, settings),
            stop: [],
            sampling: { ...plainSampling, temperature },
            logProbabilities: false,
            sampledLogProbabilities: true,
            eosTokens,
          },
          { aborted: () => false },
        );
        for (const [i, { text, ids, finishReason, sampledLogProbabilities }] of answers.entries())
          replies.set(alike[i]!, {
            text,
            promptIds: prompt,
            ids,
            logp: sampledLogProbabilities!,
            ended: finishReason === 'stop',
          });
      }
      return conversations.map((one) => replies.get(one)!);
    },
    close: () => session.close(),
  };
}

/**
 * The prompt of a conversation: where all is shown that was said before, it goes on from the very ids that were read and
 * sampled, which are never made of text again.
 */
function promptOf(tokenizer: ChatTokenizer, conversation: Conversation<SampledReply>): readonly number[] {
  const messages = messagesOf(conversation);
  const last = conversation.before.at(-1)?.reply;
  if (last === undefined || !conversation.whole) return tokenizer.encodePrompt(messages);
  const next = tokenizer.encodeNext(messages);
  // A reply that was cut lacks the token that ends it, which the template writes.
  const isThere = last.ended && next[0] === last.ids.at(-1);
  return [...last.promptIds, ...last.ids, ...(isThere ? next.slice(1) : next)];
}

/** @throws UserError when a prompt leaves no room for a reply */
function roomFor(prompt: readonly number[], { config, maxTokens }: SamplerSettings): number {
  const room = config.contextTokens - prompt.length;
  if (room >= 1) return Math.min(maxTokens, room);
  throw new UserError({
    field: 'agent.history',
    message: `a conversation has ${prompt.length} tokens, and the context holds ${config.contextTokens}`,
    remedy: 'show fewer turns (agent.history), or play fewer (agent.maxTurns)',
  });
}
