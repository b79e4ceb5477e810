/**
 * Fits a separate language head for the tiny improver, which predicts the kind of the next token better. The training
 * likelihood depends almost only on the values. The probability left for tokens of other kinds, a thousandth in all,
 * costs little likelihood but ruins one answer in thirty. A lower sampling temperature would fix that, but would also
 * narrow the values, which hurts the search (docs/log).
 */

import { encodeExample, readConversations, replyEndId } from '../../../finetune/dataset/read-dataset.js';
import type { TokenExample } from '../../../finetune/engine/batch.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { requireTensor } from '../../../src/models/local/graph/parameters.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../../src/models/local/weights/safetensors.js';
import { type HiddenStates, hiddenStates } from './hidden-states.js';
import { type TokenKinds, tokenKinds } from './token-kinds.js';

const [batch, rate, decay] = [2048, 0.02, 1e-6];
const [beta1, beta2, epsilon] = [0.9, 0.99, 1e-8];

export interface HeadSettings {
  /** Number of examples to fit the head on, evenly spread over the dataset. */
  readonly examples: number;
  readonly steps: number;
}

/**
 * Multinomial logistic regression of the tokens' kinds on the head's inputs: each kind k gets a vector uₖ that is
 * added to the head's rows of all its tokens. log p(kind) changes by hᵀuₖ − const, while the probabilities of tokens
 * within a kind stay as they are. Fitted by Adam (Kingma & Ba 2015).
 * @param directory directory of a model whose head is its embedding
 * @param dataset directory of a dataset in jsonl format
 * @returns the head: [vocabulary, width], row by row
 */
export async function sharpHead(
  directory: string,
  dataset: string,
  { examples: wanted, steps }: HeadSettings,
): Promise<Float32Array> {
  const kinds = tokenKinds(directory);
  const embedding = requireTensor(openWeights(directory), 'model.embed_tokens.weight');
  const head = toFloat32(readTensorBytes(embedding), embedding.dtype);
  const hidden = await hiddenStates(directory, examplesOf(directory, dataset, wanted));
  const vectors = fitted(hidden, kindScores(hidden, head, kinds), kinds, steps);
  const { width } = hidden;
  return head.map((value, i) => value + vectors[kinds.of[Math.floor(i / width)]! * width + (i % width)]!);
}

function examplesOf(directory: string, dataset: string, wanted: number): readonly TokenExample[] {
  const tokenizer = openTokenizer(directory, {});
  const end = replyEndId(directory, readDecoderConfig(directory), tokenizer);
  const all = readConversations(dataset, 'train');
  const stride = Math.max(1, Math.floor(all.length / wanted));
  return all
    .filter((_, i) => i % stride === 0)
    .slice(0, wanted)
    .map((conversation) => encodeExample(tokenizer, end, conversation));
}

/** Log-sum-exp of the logits of each kind: [count, kinds]. */
function kindScores(
  { states, targets, width }: HiddenStates,
  head: Float32Array,
  kinds: TokenKinds,
): Float32Array {
  const scores = new Float32Array(targets.length * kinds.count);
  const sums = new Float64Array(kinds.count);
  for (let place = 0; place < targets.length; place++) {
    sums.fill(0);
    for (let token = 0; token < kinds.of.length; token++) {
      let logit = 0;
      for (let i = 0; i < width; i++) logit += states[place * width + i]! * head[token * width + i]!;
      sums[kinds.of[token]!]! += Math.exp(logit);
    }
    for (let kind = 0; kind < kinds.count; kind++) {
      scores[place * kinds.count + kind] = Math.log(sums[kind]!);
    }
  }
  return scores;
}

function fitted(
  { states, targets, width }: HiddenStates,
  scores: Float32Array,
  kinds: TokenKinds,
  steps: number,
): Float32Array {
  const random = createGenerator(0);
  const size = kinds.count * width;
  const vectors = new Float32Array(size);
  const gradient = new Float64Array(size);
  const [first, second] = [new Float64Array(size), new Float64Array(size)];
  const probabilities = new Float64Array(kinds.count);
  for (let step = 1; step <= steps; step++) {
    gradient.fill(0);
    for (let drawn = 0; drawn < batch; drawn++) {
      const place = random.integers(0, targets.length);
      let sum = 0;
      for (let kind = 0; kind < kinds.count; kind++) {
        let score = scores[place * kinds.count + kind]!;
        for (let i = 0; i < width; i++) score += states[place * width + i]! * vectors[kind * width + i]!;
        probabilities[kind] = Math.exp(score);
        sum += probabilities[kind]!;
      }
      const due = kinds.of[targets[place]!]!;
      for (let kind = 0; kind < kinds.count; kind++) {
        const error = (probabilities[kind]! / sum - (kind === due ? 1 : 0)) / batch;
        if (Math.abs(error) < 1e-12) continue;
        for (let i = 0; i < width; i++) gradient[kind * width + i]! += error * states[place * width + i]!;
      }
    }
    const learning = rate * (1 - (step - 1) / steps);
    for (let i = 0; i < size; i++) {
      const slope = gradient[i]! + decay * vectors[i]!;
      first[i] = beta1 * first[i]! + (1 - beta1) * slope;
      second[i] = beta2 * second[i]! + (1 - beta2) * slope * slope;
      const corrected = first[i]! / (1 - beta1 ** step);
      vectors[i]! -= (learning * corrected) / (Math.sqrt(second[i]! / (1 - beta2 ** step)) + epsilon);
    }
  }
  return vectors;
}
