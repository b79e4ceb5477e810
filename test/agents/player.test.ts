import { describe, expect, it } from 'vitest';
import { genericAgent } from '../../src/agents/agent.js';
import { type GameSetup, localArena, playGames } from '../../src/agents/player.js';
import { openAgent } from '../../src/agents/prompted-agent.js';
import { messagesOf, type Reply, type Speaker } from '../../src/agents/speaker.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { EpisodeBatch } from '../../src/environments/remote/remote-environment.js';
import type { LanguageModel } from '../../src/models/language-model.js';
import { createScriptedModel, type ScriptedCall } from '../support/scripted-model.js';

const modelSpeaker = (model: LanguageModel): Speaker => ({
  reply: (conversations) =>
    Promise.all(
      conversations.map(async (conversation) => {
        const [completion] = await model.generate(messagesOf(conversation), { seeds: [conversation.seed] });
        return { text: completion!.text };
      }),
    ),
});

async function playing(
  id: string,
  say: (call: ScriptedCall, index: number) => string,
  given: Partial<GameSetup<Reply>> = {},
) {
  const environments = [await makeEnvironment(id), await makeEnvironment(id)];
  const model = createScriptedModel(say);
  const setting: GameSetup<Reply> = {
    arena: localArena(environments),
    agent: genericAgent(environments[0]!),
    speaker: modelSpeaker(model),
    history: 100,
    fallback: 'end',
    maxTurns: 50,
    ...given,
  };
  return { setting, model };
}

const count = (messages: readonly { readonly content: string }[], text: string) =>
  messages.filter(({ content }) => content.includes(text)).length;

const shown = ({ messages }: ScriptedCall) => messages.map(({ role, content }) => `${role}: ${content}`);

describe('episodes with a model', () => {
  it('show the model the conversation so far, and run in parallel', async () => {
    const { model, setting } = await playing('probe-discount', () => 'A');
    const games = await playGames(setting, [
      { start: 1, sampling: 1 },
      { start: 2, sampling: 2 },
      { start: 3, sampling: 3 },
    ]);
    expect(games.map((game) => game.return)).toEqual([1, 1, 1]);
    expect(games[0]!.turns.map(({ message, reward }) => [message, reward])).toEqual([
      ['first', 0],
      ['last', 1],
    ]);
    const turns = [['user: first'], ['user: first', 'assistant: A', 'user: last']];
    expect(model.calls.map(shown)).toEqual([turns[0], turns[0], turns[1], turns[1], ...turns]);
    const seeds = model.calls.map(({ options }) => options.seeds[0]!);
    expect(new Set(seeds).size).toBe(seeds.length);
    expect(seeds.every((seed) => seed < 2 ** 31)).toBe(true);
  });

  it('show no earlier steps if `history` is 0', async () => {
    const { model, setting } = await playing('probe-discount', () => 'A', { history: 0 });
    await playGames(setting, [{ start: 1, sampling: 1 }]);
    expect(model.calls.map(shown)).toEqual([['user: first'], ['user: last']]);
  });

  it.each([
    ['text-world', 0],
    ['text-world', 2],
    ['generic', 0],
    ['plain', 1],
  ])('keep showing the task after its turn left the history: %s, history %i', async (prompts, history) => {
    const id = 'text:cooking';
    const { model, setting } = await playing(id, () => 'look', { history, maxTurns: 5 });
    const environment = await makeEnvironment(id);
    const agent = openAgent({
      environment,
      options: {},
      maxSteps: 5,
      prompts,
      replyFormat: 'text',
      field: 'policy.prompts',
    });
    const [game] = await playGames({ ...setting, agent, fallback: 'first' }, [{ start: 3, sampling: 1 }]);
    environment.reset(3);
    const objective = environment.objective!()!;
    expect(objective).toMatch(/recipe/);
    expect(game!.objective).toBe(objective);
    const times = model.calls.map(({ messages }) => count(messages, objective));
    expect(times).toEqual([1, 1, 1, 1, 1]);
    const [first, later] = [model.calls[0]!, model.calls.at(-1)!];
    expect(count(first.messages.slice(-1), objective)).toBe(1);
    expect(count(later.messages.slice(0, 1), objective)).toBe(1);
    expect(later.messages[0]!.role).toBe('system');
  });

  it('count the task against the token budget', async () => {
    const { model, setting } = await playing('text:cooking', () => 'look', {
      maxTurns: 12,
      fallback: 'first',
    });
    const lengths: number[] = [];
    const count = (messages: readonly { readonly content: string }[]) =>
      messages.reduce((sum, { content }) => sum + content.length, 0);
    await playGames({ ...setting, speaker: { ...setting.speaker, count }, historyTokens: 1500 }, [
      { start: 3, sampling: 1 },
    ]);
    for (const { messages } of model.calls) lengths.push(count(messages));
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1500);
    expect(model.calls.at(-1)!.messages[0]!.role).toBe('system');
  });

  it('repeat the first observation of a text world in later prompts if its task is unknown', async () => {
    const { model, setting } = await playing('text:cooking', () => 'look', {
      history: 0,
      fallback: 'first',
      maxTurns: 2,
    });
    const { objective: _, ...batch } = setting.arena.batch;
    await playGames({ ...setting, arena: { ...setting.arena, batch } }, [{ start: 3, sampling: 1 }]);
    const [first, later] = model.calls.map(({ messages }) => messages.map(({ content }) => content));
    expect(later![0]).toBe(first![0]);
    const probe = await playing('probe-discount', () => 'A', { history: 0 });
    await playGames(probe.setting, [{ start: 1, sampling: 1 }]);
    expect(probe.model.calls.map(shown)).toEqual([['user: first'], ['user: last']]);
  });

  it('start with the same observation for the same seed', async () => {
    const { setting } = await playing('probe-policy-observation', ({ messages }) =>
      messages.at(-1)!.content === 'up' ? 'A' : 'B',
    );
    const starts = [5, 6, 7, 8, 9];
    const seeds = starts.flatMap((start) => [
      { start, sampling: 2 * start },
      { start, sampling: 2 * start + 1 },
    ]);
    const games = await playGames(setting, seeds);
    expect(games.every((game) => game.return === 1)).toBe(true);
    const messages = games.map(({ turns }) => turns[0]!.message);
    for (let i = 0; i < messages.length; i += 2) expect(messages[i]).toBe(messages[i + 1]);
    expect(new Set(messages).size).toBe(2);
  });

  it.each([
    ['end', [{ valid: false, reward: 0 }], true],
    ['first', [{ valid: false, action: 'A', reward: 0 }], true],
    ['random', [{ valid: false, action: expect.stringMatching(/^[A-H]$/) }], true],
  ] as const)('apply the fallback if a reply names no action: %s', async (fallback, turns, terminated) => {
    const { setting } = await playing('bandit', () => 'well', { fallback });
    const [game] = await playGames(setting, [{ start: 1, sampling: 4 }]);
    expect(game).toMatchObject({ turns, terminated, truncated: false });
  });

  it('are truncated after `maxTurns` turns', async () => {
    const { setting } = await playing('FrozenLake-v1', () => '0', { maxTurns: 3 });
    const [game] = await playGames(setting, [{ start: 1, sampling: 1 }]);
    expect(game).toMatchObject({ truncated: true, terminated: false, turns: { length: 3 } });
  });

  it('show only as many earlier steps as fit the token budget', async () => {
    const counted: number[] = [];
    const { model, setting } = await playing('FrozenLake-v1', () => '0', { maxTurns: 5, history: 3 });
    const speaker = {
      ...setting.speaker,
      // A token a message.
      count: (messages: readonly unknown[]) => counted[counted.push(messages.length) - 1]!,
    };
    const lengths = async (historyTokens: number | undefined) => {
      const before = model.calls.length;
      await playGames({ ...setting, speaker, historyTokens }, [{ start: 1, sampling: 1 }]);
      return model.calls.slice(before).map(({ messages }) => messages.length);
    };
    // A system message, two for each turn that is shown, and the present one.
    expect(await lengths(undefined)).toEqual([2, 4, 6, 8, 8]);
    expect(await lengths(6)).toEqual([2, 4, 6, 6, 6]);
    expect(await lengths(5)).toEqual([2, 4, 4, 4, 4]);
    // The present message is always shown.
    expect(await lengths(1)).toEqual([2, 2, 2, 2, 2]);
    expect(counted.length).toBeGreaterThan(0);
    const last = model.calls.at(-1)!.messages;
    expect(last.at(-1)!.role).toBe('user');
  });

  it('ask again up to `asks` times after a reply that names no action, then take a random action', async () => {
    const replies = ['well', 'hm', 'A', 'no', 'no', 'no', 'never'];
    const { model, setting } = await playing('probe-discount', (_, index) => replies[index] ?? 'A', {
      fallback: 'ask-again',
      asks: 2,
    });
    const [first] = await playGames(setting, [{ start: 1, sampling: 4 }]);
    expect(first!.turns.map(({ action, valid }) => [action, valid])).toEqual([
      [undefined, false],
      [undefined, false],
      ['A', true],
      [undefined, false],
      [undefined, false],
      ['A', false],
    ]);
    expect(first!.return).toBe(1);
    const asked = model.calls[1]!.messages;
    const contents = asked.map(({ content }) => content);
    expect(contents).toEqual(['first', 'well', expect.stringContaining('names no action')]);
    expect(asked.at(-1)!.content).toContain('One of: A');
  });

  it('show the observation when asking again, even with almost no history', async () => {
    const replies = ['well', 'hm', 'A', 'no'];
    for (const shown of [{ history: 0 }, { history: 1 }, { historyTokens: 1 }]) {
      const { model, setting } = await playing('probe-discount', (_, index) => replies[index] ?? 'A', {
        fallback: 'ask-again',
        ...shown,
      });
      await playGames(setting, [{ start: 1, sampling: 4 }]);
      const contents = model.calls.map(({ messages }) => messages.map(({ content }) => content));
      expect(contents[1]!.slice(-3, -1)).toEqual(['first', 'well']);
      expect(contents[2]!.slice(-5, -1)).toEqual(['first', 'well', contents[1]!.at(-1), 'hm']);
      // After a step, as much as was asked for.
      expect(contents[3]!.at(-1)).toBe('last');
      expect(contents[3]).toHaveLength(shown.history === 1 ? 3 : 1);
      expect(contents[4]!.slice(-3, -1)).toEqual(['last', 'no']);
    }
  });

  it('show earlier replies without their thinking, and a placeholder for an empty reply', async () => {
    const replies = ['<think>B?</think>A', ''];
    const { model, setting } = await playing('probe-discount', (_, index) => replies[index] ?? 'A', {
      fallback: 'ask-again',
    });
    await playGames(setting, [{ start: 1, sampling: 4 }]);
    const contents = model.calls[2]!.messages.map(({ content }) => content).slice(0, 4);
    expect(contents).toEqual(['first', 'A', 'last', '(no text)']);
  });

  it('that run in another program take one message per step, and show the objective in the first prompt', async () => {
    const messages: string[] = [];
    const state = [0, 0];
    const batch: EpisodeBatch = {
      slotCount: 2,
      async reset(seeds) {
        messages.push(`reset ${seeds.join(' ')}`);
        seeds.forEach((seed, slot) => {
          state[slot] = seed;
        });
        return seeds.map((seed) => `left: ${seed}`);
      },
      async step(moves) {
        messages.push(moves.map(({ slot, action }) => `${slot} ${action}`).join(', '));
        return moves.map(({ slot }) => {
          const left = --state[slot]!;
          return { observation: `left: ${left}`, reward: 1, terminated: left === 0, truncated: false };
        });
      },
      info: (slot) => ({
        score: 0,
        maxScore: null,
        won: false,
        lost: false,
        moves: null,
        admissible: [`take ${state[slot]}`],
      }),
      objective: () => 'Take them all.',
    };
    const { model, setting } = await playing('bandit', ({ messages: shown }) =>
      shown.at(-1)!.content.replace(/^[\s\S]*left: /, 'take '),
    );
    const space = { kind: 'text' } as const;
    const arena = { id: 'other', observationSpace: space, actionSpace: space, batch, close: () => undefined };
    const agent = genericAgent(arena);
    const starts = [2, 1, 1].map((start) => ({ start, sampling: start }));
    const games = await playGames({ ...setting, agent, arena }, starts);
    expect(games.map((game) => [game.return, game.turns.length])).toEqual([
      [2, 2],
      [1, 1],
      [1, 1],
    ]);
    expect(messages).toEqual(['reset 2 1', '0 take 2, 1 take 1', '0 take 1', 'reset 1', '0 take 1']);
    expect(model.calls[0]!.messages[0]!.content).toBe('Take them all.\nleft: 2');
    expect(games[0]!.turns.every(({ valid }) => valid)).toBe(true);
  });
});
