/** Creates the rows that TRL reads, and checks whether TRL turns them into the same tokens as serving. */
import { readFileSync } from 'node:fs';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import {
  type ChatTokenizer,
  openTokenizer,
  readTokenizerJson,
} from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { completionsOf } from '../dataset/example.js';
import { trlDpoRow, trlSftRow } from '../dataset/export-rows.js';
import {
  endOfAnswer,
  renderExample,
  type StoredAnswer,
  type StoredExample,
} from '../dataset/read-dataset.js';

/** Content of the rows: messages, which TRL renders and tokenises itself, or the token ids used in serving. */
export type RowKind = 'messages' | 'tokens';

/** How many answers have the same, additional or different tokens in TRL, compared with serving. */
export interface TokenCheck {
  readonly same: number;
  /** TRL's tokens are the same, plus some that the template adds after an answer, often a line break. */
  readonly longer: number;
  readonly different: number;
  /** Number of tokens in the longest example. */
  readonly longest: number;
  readonly contextTokens: number;
}

/** The base model's tokenizer and chat template, as in serving. */
export interface BaseTexts {
  readonly config: DecoderConfig;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly tokenizer: ChatTokenizer;
  /** The tokenizer without the assistant prefix, because TRL renders prompt and answer together. */
  readonly whole: ChatTokenizer;
  readonly end: number;
  readonly control: readonly string[];
  /** True if the template inserts the current date; serving inserts a fixed date instead. */
  readonly dated: boolean;
}

/** @throws UserError if a file is missing or unsupported */
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

/** `{prompt, completion}` or `{prompt, chosen, rejected}`; adds `chat_template_kwargs` if there are `variables`. */
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

/** Rows `{input_ids, completion_mask}`, with the same tokens as in `finetune train`. */
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

/** Compares the tokens of all answers, including both answers of each pair. */
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
  // If a message contains the text of a control token, serving encodes it as text; Transformers, as the token.
  const spelled = [...messages.map(({ content }) => content), answer].some((text) =>
    control.some((token) => text.includes(token)),
  );
  if (dated || spelled || !ours.every((id, i) => theirs[i] === id)) return 'different';
  return theirs.length === ours.length ? 'same' : 'longer';
}
