import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../../../src/base/package.js';
import { makeEnvironment } from '../../../../src/environments/catalogue/open.js';
import { openTokenizer } from '../../../../src/models/local/tokens/tokenizer.js';

const packaged = join(packageRoot(), 'models', 'tiny-words');

it('the word model has one token for each word of new games, and round-trips other text', async () => {
  const tokenizer = openTokenizer(packaged);
  const world = await makeEnvironment('text:cooking', { fold: 'test', rooms: 12, ingredients: 5 });
  const texts = Array.from({ length: 40 }, (_, seed) => [
    String(world.reset(seed)),
    ...(world.info!().admissible ?? []),
  ]).flat();
  for (const text of texts) {
    expect(tokenizer.decode(tokenizer.encodeText(text))).toBe(text);
    expect(tokenizer.encodeText(text)).toHaveLength(text.match(/ ?[A-Za-z]+|[^A-Za-z]/g)!.length);
  }
  const other = 'Grüße, Zwieback 42 漢字\n';
  expect(tokenizer.decode(tokenizer.encodeText(other))).toBe(other);
});

it('the word model encodes the next turn as its chat template does', () => {
  const tokenizer = openTokenizer(packaged);
  const user = (content: string) => ({ role: 'user', content }) as const;
  const reply = { role: 'assistant', content: 'open oven' } as const;
  const before = tokenizer.encodePrompt([user('You are in the hall.')]);
  const messages = [user('You are in the hall.'), reply, user('You open the oven.')];
  expect([...before, ...tokenizer.encodeText(reply.content), ...tokenizer.encodeNext(messages)]).toEqual(
    tokenizer.encodePrompt(messages),
  );
});
