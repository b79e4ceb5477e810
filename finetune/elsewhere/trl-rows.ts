/** The rows that TRL reads, and whether it makes the same tokens of them as serving does. */

import { readFileSync } from 'node:fs';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import {
  type ChatTokenizer,
  openTokenizer,
  readTokenizerJson,
} from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { completionsOf } from '../dataset/example.js';
import { endOfAnswer, renderExample } from '../dataset/read-dataset.js';
import { trlDpoRow, trlSftRow } from '../dataset/row-formats.js';
import type { StoredAnswer, StoredExample } from '../dataset/stored-examples.js';

/** Rows hold messages, which TRL renders and tokenises itself, or the token ids of serving. */
export type RowKind = 'messages' | 'tokens';

/** Counts of answers by how TRL's tokens compare with those of serving. */
export interface TokenCheck {
  readonly same: number;
  /** The tokens of serving, then those that the template writes behind an answer, often a line break. */
  readonly longer: number;
  readonly different: number;
  /** Tokens of the longest example. */
  readonly longest: number;
  /** The context of the model. */
  readonly contextTokens: number;
}

/** The base model's tokenizer and template, as serving reads them. */
export interface BaseTexts {
  readonly config: DecoderConfig;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly tokenizer: ChatTokenizer;
  /** The same without the opening of an answer: TRL renders prompt and answer together. */
  readonly whole: ChatTokenizer;
  readonly end: number;
  /** Spellings of control tokens. */
  readonly control: readonly string[];
  /** Whether the template writes the present date, where serving writes a fixed one. */
  readonly dated: boolean;
}

/** @throws UserError when a file is missing or of an unsupported kind */
export function openBaseTexts(
  directory: string,
  variables: Readonly<Record<string, unknown>>,
  ignoredKeys: readonly string[] = [],
): BaseTexts {
  const config = readDecoderConfig(directory, ignoredKeys);
  const tokenizer = openTokenizer(directory, variables);
  const whole = openTokenizer(directory, { ...variables, add_generation_prompt: false });
  const { added_tokens: added } = readTokenizerJson(directory);
  return {
    config,
    variables,
    tokenizer,
    whole,
    end: endOfAnswer(directory, config, tokenizer),
    control: added.filter(({ special }) => special).map(({ content }) => content),
    dated:
      !('date_string' in variables) && readFileSync(tokenizer.template.file, 'utf8').includes('strftime_now'),
  };
}

/** The rows of one file: `{prompt, completion}` or `{prompt, chosen, rejected}`, with `chat_template_kwargs` where there are any. */
export function messageRows(
  examples: readonly StoredExample[],
  variables: Readonly<Record<string, unknown>>,
): readonly object[] {
  const extra = Object.keys(variables).length > 0 && { chat_template_kwargs: variables };
  return examples.map((example) => ({
    ...(example.kind === 'imitation' ? trlSftRow(example) : trlDpoRow(example)),
    ...extra,
  }));
}

/** `{input_ids, completion_mask}`: what `finetune train` would read. */
export function tokenRows(examples: readonly StoredAnswer[], base: BaseTexts): readonly object[] {
  return examples.map((example) => {
    const { promptIds, completionIds } = served(base, example.prompt, example.completion);
    return {
      input_ids: [...promptIds, ...completionIds],
      completion_mask: [...promptIds.map(() => 0), ...completionIds.map(() => 1)],
    };
  });
}

function served({ tokenizer, end }: BaseTexts, messages: StoredAnswer['prompt'], completion: string) {
  return renderExample(tokenizer, end, { messages, completion, weight: 1 });
}

/** Compares every answer, both of a pair. */
export function checkTokens(examples: readonly StoredExample[], base: BaseTexts, rows: RowKind): TokenCheck {
  const count = { same: 0, longer: 0, different: 0 };
  let longest = 0;
  for (const example of examples) {
    for (const answer of completionsOf(example)) {
      const { promptIds, completionIds } = served(base, example.prompt, answer);
      const ours = [...promptIds, ...completionIds];
      if (rows === 'tokens') {
        count.same++;
        longest = Math.max(longest, ours.length);
        continue;
      }
      const theirs = base.whole.encodePrompt([...example.prompt, { role: 'assistant', content: answer }]);
      longest = Math.max(longest, ours.length, theirs.length);
      count[comparison(base, example.prompt, answer, ours, theirs)]++;
    }
  }
  return { ...count, longest, contextTokens: base.config.contextTokens };
}

function comparison(
  { control, dated }: BaseTexts,
  messages: StoredAnswer['prompt'],
  answer: string,
  ours: readonly number[],
  theirs: readonly number[],
): 'same' | 'longer' | 'different' {
  // Serving keeps a control token that a message spells as text; Transformers makes the token of it.
  const spelled = [...messages.map(({ content }) => content), answer].some((text) =>
    control.some((token) => text.includes(token)),
  );
  if (dated || spelled || !ours.every((id, i) => theirs[i] === id)) return 'different';
  return theirs.length === ours.length ? 'same' : 'longer';
}
