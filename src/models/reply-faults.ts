import type { ChatMessage, Completion, ReplyFault, Usage } from './language-model.js';

/** Tokens that a chat template adds to each message (role markers), at most. */
const templateTokens = 8;
/** Tokens that a template may add on its own: a default system prompt, a tool preamble. */
const preambleTokens = 256;

/**
 * No fewer tokens than any common tokenizer makes of the messages: a token for each digit and sign (numbers are most
 * of a prompt here), one for every three letters, one for every byte of other scripts.
 */
export function mostTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + templateTokens + mostTokensOf(content), preambleTokens);
}

/** The same of a text alone. */
export function mostTokensOf(text: string): number {
  let tokens = 0;
  for (const [run] of text.matchAll(/ ?[A-Za-z]+|[ \t]+|\p{ASCII}|\P{ASCII}+/gu)) {
    if (/[A-Za-z]$/.test(run)) tokens += Math.ceil(run.trim().length / 3);
    else if (/^[ \t]/.test(run)) tokens += 1;
    else tokens += Buffer.byteLength(run);
  }
  return tokens;
}

/**
 * No more tokens than any common tokenizer makes of the messages: none joins two words, or digits with anything else,
 * or more than four digits; marks may join one another, and the last one may join the word after it. A fifth is left
 * for the exceptions.
 */
export function fewestTokens(messages: readonly ChatMessage[]): number {
  let tokens = 0;
  for (const { content } of messages) {
    for (const [run] of content.matchAll(/[A-Za-z]+|[0-9]+|[!-/:-@[-`{-~]+(?![A-Za-z])/g)) {
      tokens += /^[0-9]/.test(run) ? Math.ceil(run.length / 4) : 1;
    }
  }
  return Math.floor(tokens * 0.8);
}

// What is wrong with a reply that is one, and with what its provider says that it took.

/** Token counts as a provider sends them: anything may stand there. */
export interface ReportedCounts {
  readonly prompt: unknown;
  readonly cached?: unknown;
  readonly completion: unknown;
  readonly reasoning?: unknown;
  /** Prompt and completion. */
  readonly total?: unknown;
}

type Reply = Pick<Completion, 'text' | 'reasoning' | 'finishReason'>;

/** What can be told from the text. */
export function replyFaults({ text, finishReason }: Reply): readonly ReplyFault[] {
  const faults: ReplyFault[] = [];
  if (finishReason === 'content-filter') faults.push('content-filter');
  else if (text.trim() === '') faults.push('no-text');
  if (finishReason === 'length' && endsInLoop(text)) faults.push('loop');
  return faults;
}

/** As much of an end is looked at, and as much of that has to be a loop, in characters. */
const loopLength = { most: 2000, fewest: 200 } as const;
/** So often the phrase has to come there. */
const loopRounds = 8;
/** What is so many times beyond any tokenizer's count is no count. */
const absurd = 10;

/**
 * Whether a text ends in one phrase over and over. The shortest period of its end, by the prefix function (Knuth,
 * Morris, Pratt 1977): linear.
 */
export function endsInLoop(text: string): boolean {
  // Backwards, so that a last round that was cut doesn't matter.
  const end = [...text.slice(-loopLength.most).trimEnd()].reverse();
  const borders = new Array<number>(end.length).fill(0);
  for (let i = 1; i < end.length; i++) {
    let border = borders[i - 1]!;
    while (border > 0 && end[i] !== end[border]) border = borders[border - 1]!;
    borders[i] = end[i] === end[border] ? border + 1 : 0;
  }
  // The longest stretch, from the end of the text, that is at least so many rounds of its period.
  return borders.some((border, i) => i + 1 >= loopLength.fewest && (i + 1 - border) * loopRounds <= i + 1);
}

/**
 * The counts that can be right, what is estimated in the place of the others, and what was wrong.
 * @param sent what was asked, with the longest completion that was asked for, where there was one
 */
export function checkUsage(
  reported: ReportedCounts,
  sent: {
    readonly messages: readonly ChatMessage[];
    readonly maxTokens: number | undefined;
    readonly replies: readonly Reply[];
  },
): { readonly usage: Usage; readonly faults: readonly ReplyFault[]; readonly warning?: string } {
  const faults = new Set<ReplyFault>();
  const read = (value: unknown): number | undefined => {
    if (value === undefined || value === null) return undefined;
    if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
    faults.add('usage-wrong');
    return undefined;
  };
  let [prompt, cached, completion, reasoning] = [
    read(reported.prompt),
    read(reported.cached),
    read(reported.completion),
    read(reported.reasoning),
  ];
  const total = read(reported.total);
  const { messages, replies, maxTokens } = sent;
  if (reported.prompt === undefined || reported.prompt === null) faults.add('usage-missing');
  if (reported.completion === undefined || reported.completion === null) faults.add('usage-missing');

  const written = replies.some(({ text, reasoning: thought }) => text !== '' || thought !== undefined);
  const wrong = () => {
    faults.add('usage-wrong');
    return undefined;
  };
  const most = mostTokens(messages);
  if (prompt === 0 || (prompt ?? 0) > absurd * most) prompt = wrong();
  if (completion === 0 && written) completion = wrong();
  // xAI and Gemini count hidden reasoning in the total, but not in the completion.
  if (prompt !== undefined && completion !== undefined && total !== undefined) {
    completion = Math.max(completion, total - prompt);
  }
  if (reasoning !== undefined && completion !== undefined && reasoning > completion) {
    faults.add('usage-wrong');
    completion += reasoning;
  }
  if (cached !== undefined && cached > (prompt ?? 0)) cached = prompt === undefined ? undefined : wrong();
  if (completion === undefined) reasoning = undefined;
  if (prompt !== undefined && prompt > most) faults.add('usage-wrong');
  if (maxTokens !== undefined && (completion ?? 0) > maxTokens * replies.length) faults.add('overlong');
  const fewest = fewestTokens(messages);
  const isCut = prompt !== undefined && prompt < fewest;
  if (isCut) faults.add('prompt-cut');

  const unreported = {
    promptTokens: prompt === undefined ? most : 0,
    completionTokens:
      completion === undefined
        ? replies.reduce((sum, { text, reasoning: thought = '' }) => sum + mostTokensOf(text + thought), 0)
        : 0,
  };
  return {
    usage: {
      ...(prompt !== undefined && { promptTokens: prompt }),
      ...(cached !== undefined && { cachedTokens: cached }),
      ...(completion !== undefined && { completionTokens: completion }),
      ...(reasoning !== undefined && { reasoningTokens: reasoning }),
      ...(unreported.promptTokens + unreported.completionTokens > 0 && { unreported }),
    },
    faults: [...faults],
    ...(isCut && {
      warning: `the server read ${prompt} tokens of a prompt that has at least ${fewest}: it cut the prompt, or counts wrongly`,
    }),
  };
}
