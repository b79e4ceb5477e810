import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import { embeddedModelPath, modelDirectory } from '../../src/models/local/settings.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { checkUsage, maxPromptTokens, minPromptTokens } from '../../src/models/reply-faults.js';

/** Token counts of the texts: o200k and p50k (gpt-tokenizer 3), Llama 3 and Llama 2 (their JavaScript ports). */
const measured: readonly (readonly [string, readonly number[]])[] = [
  [
    'params[0]: 1.5, params[1]: -0.3, params[2]: 4.0; f(params): 217.45\n'.repeat(100),
    [3500, 3300, 3500, 3900],
  ],
  [
    'You are a good global optimizer. Propose new values of the parameters that you expect to give a higher return.\n'.repeat(
      60,
    ),
    [1380, 1500, 1380, 1500],
  ],
  ['| state | action |\n|-------|--------|\n| 12 | 3 |\n'.repeat(60), [1020, 1080, 1020, 1260]],
  ['{"reason": "steeper", "params": [0.123456, -12.5, 3]}\n'.repeat(60), [1440, 1440, 1440, 1800]],
  ['请提出更好的参数，使得回报更高。'.repeat(60), [720, 2040, 720, 1081]],
];

describe('token bounds', () => {
  it.each(measured)('hold for $0', (content, counts) => {
    const messages = [{ role: 'user', content }] as const;
    expect(minPromptTokens(messages)).toBeLessThanOrEqual(Math.min(...counts));
    expect(maxPromptTokens(messages)).toBeGreaterThanOrEqual(Math.max(...counts));
  });

  it('are tight enough to detect that half of a history was cut', () => {
    const [content, counts] = measured[0]!;
    const fewest = minPromptTokens([{ role: 'user', content }]);
    expect(fewest).toBeGreaterThan(Math.max(...counts) / 2);
  });
});

describe('a server with the embedded model', () => {
  const tokenizer = openTokenizer(modelDirectory(embeddedModelPath));
  const random = createGenerator(4);
  const system: ChatMessage = {
    role: 'system',
    content: `You look for the parameters that maximise an unknown function. ${'There are many words here. '.repeat(30)}`,
  };
  const values = {
    decimals: () => random.uniform(-6, 6).toFixed(1),
    integers: () => String(Math.floor(random.uniform(0, 4))),
    'decimals beyond its vocabulary': () => random.uniform(-30, 30).toFixed(2),
  };
  const asked = (parameters: number, rows: number, value: () => string): readonly ChatMessage[] => {
    const row = () => `99 ${Array.from({ length: parameters }, value).join(' ')}\n`;
    return [
      system,
      {
        role: 'user',
        content: `tried 40 stale 3\nrecent\n${row()}best\n${Array.from({ length: rows }, row).join('')}next\n`,
      },
    ];
  };
  const cases = [1, 2, 4, 10, 25, 64].flatMap((parameters) =>
    [0, 1, 4, 12].map((rows) => [parameters, rows] as const),
  );

  it.each(Object.entries(values))(
    'is not reported to have cut a prompt of %s that it read in full',
    (_, value) => {
      for (const [parameters, rows] of cases) {
        const messages = asked(parameters, rows, value);
        const answer = Array.from({ length: parameters }, (_, i) => `params[${i}]: ${value()}`).join(', ');
        const prompt = tokenizer.encodePrompt(messages).length;
        const completion = tokenizer.encodeText(answer).length + 1;
        const sent = { maxTokens: undefined, replies: [{ text: answer, finishReason: 'stop' as const }] };
        expect(checkUsage({ prompt, completion }, { messages, ...sent }).faults).toEqual([]);
        const corrected: readonly ChatMessage[] = [
          ...messages,
          { role: 'assistant', content: answer },
          { role: 'user', content: 'Not like this.\nnext\n' },
        ];
        const longer = tokenizer.encodePrompt(corrected).length;
        expect(checkUsage({ prompt: longer, completion }, { messages: corrected, ...sent }).faults).toEqual(
          [],
        );
        const cut = { prompt: Math.floor(prompt / 8), completion };
        if (rows === 12) expect(checkUsage(cut, { messages, ...sent }).faults).toEqual(['prompt-cut']);
      }
    },
  );
});
