import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePlayPage } from '../../src/agents/play-page.js';
import { playFigures } from '../../src/agents/play-result.js';
import { ModelError } from '../../src/models/language-model.js';
import { temporaryDirectory } from '../support/experiments.js';
import { createScriptedModel, type ScriptedCall } from '../support/scripted-model.js';
import { visibleText } from '../web/shown.js';
import { played, readPlay } from './playing.js';

const cartPole = ['episodes=5', 'parallel=2', 'maxSteps=12', 'policy.fallback=ask-again'];

/** Pushes against the lean, and sometimes gives an unusable reply; depends only on the messages. */
function balance({ messages }: ScriptedCall): string {
  const text = messages.at(-1)!.content;
  if (text.includes('names no action')) return 'RIGHT';
  const angle = Number(/Pole angle: (\S+) rad/.exec(text)![1]);
  if (/position: \S+2,/.test(text)) return 'let me think';
  return angle > 0 ? 'I push RIGHT' : 'LEFT';
}

const meanReturn = (games: Parameters<typeof playFigures>[0]) => playFigures(games).meanReturn;

describe('players without a model', () => {
  it('the expert wins six games of agents/cooking; random and first score less than half', async () => {
    const expert = await played('agents/cooking', ['player=expert', 'episodes=6']);
    const expected = { games: 6, meanScore: 1, won: 1, lost: 0, truncated: 0 };
    expect(playFigures(expert.games)).toMatchObject(expected);
    const random = await played('agents/cooking', ['player=random', 'episodes=6']);
    expect(playFigures(random.games).meanScore).toBeLessThan(0.5);
    const first = await played('agents/cooking', ['player=first', 'episodes=6']);
    expect(playFigures(first.games).meanScore).toBeLessThan(0.5);
    // The same games: what was seen first depends on the seed only.
    const starts = (games: typeof expert.games) => games.map(({ seed, turns }) => [seed, turns[0]!.message]);
    expect(starts(random.games)).toEqual(starts(expert.games));
    expect(expert.calls).toEqual([]);
  });

  it.each(['cartpole', 'frozenlake', 'blackjack', 'taxi', 'cliffwalking'])(
    'random plays agents/%s, which has no score',
    async (name) => {
      const { games, manifest } = await played(`agents/${name}`, ['player=random', 'episodes=3']);
      expect(playFigures(games)).toMatchObject({ games: 3, meanScore: null, maxScore: null, won: null });
      expect(meanReturn(games)).not.toBeNull();
      expect(games[0]!.turns[0]).toMatchObject({ words: expect.any(String), action: expect.any(Number) });
      expect(games[0]!.turns[0]).not.toHaveProperty('valid');
      expect(manifest).toMatchObject({
        status: 'completed',
        play: { player: 'random' },
        iterations: { done: 3 },
      });
    },
  );

  it('get a page whose commands quote the name of the run', async () => {
    const { path } = await played('agents/cartpole', ['player=random', 'episodes=1']);
    const file = join(path, 'manifest.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"run": "[^"]+"/, '"run": "a; ls"'));
    const page = visibleText(readFileSync(writePlayPage(path), 'utf8'));
    for (const suffix of ['again', 'random']) expect(page).toContain(`--run-dir '../a; ls-${suffix}'`);
    expect(page).toContain("compare . '../a; ls-random'");
  });

  it("are rejected if they can't play; the error lists players that can", async () => {
    await expect(played('agents/cartpole', ['player=expert'])).rejects.toThrow(
      /the winning commands of CartPole-v1 are unknown[\s\S]*model, random, first/,
    );
    await expect(played('agents/cartpole', ['player=first', 'environment=Pendulum-v1'])).rejects.toThrow(
      /can't be listed[\s\S]*model, random/,
    );
    const { games } = await played('agents/cartpole', [
      ...['player=random', 'environment=Pendulum-v1', 'episodes=1', 'policy.prompts=generic', 'maxSteps=4'],
    ]);
    expect(games[0]!.turns.map(({ action }) => (action as number[])[0]! ** 2 <= 4)).toEqual(
      Array(4).fill(true),
    );
  });
});

describe('a model', () => {
  it('plays games in parallel, and every call and turn is recorded', async () => {
    const model = createScriptedModel(balance);
    const { calls, games, manifest } = await played('agents/cartpole', cartPole, model);
    const places = games.map(({ iteration, candidate, episode }) => [iteration, candidate, episode]);
    expect(places).toEqual([
      [1, 0, 0],
      [1, 1, 1],
      [2, 0, 2],
      [2, 1, 3],
      [3, 0, 4],
    ]);
    const turns = games.flatMap((game) => game.turns);
    expect(turns.length).toBe(model.calls.length);
    expect(calls.length).toBe(model.calls.length);
    expect(turns.some(({ valid }) => valid === false)).toBe(true);
    for (const { valid, action, reply, reward } of turns) {
      expect(reply).toMatch(/RIGHT|LEFT|think/);
      expect([action !== undefined, reward === 1]).toEqual([valid, valid]);
    }
    const { completion, messages, outcome, seed } = calls[0]!;
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(outcome).toEqual({ kind: 'accepted', parameters: [], action: expect.any(Number) });
    expect(completion!.usage.promptTokens).toBeGreaterThan(0);
    expect(seed).toBe(model.calls[0]!.options.seeds[0]);
    expect(manifest.usage).toMatchObject({ calls: calls.length, errors: 0 });
    expect(manifest.reason).toEqual({ kind: 'iterations' });
  });

  it('plays the same episodes when run again, and uses the same seeds with another `parallel`', async () => {
    const [one, other] = [
      await played('agents/cartpole', cartPole, createScriptedModel(balance)),
      await played('agents/cartpole', cartPole, createScriptedModel(balance)),
    ];
    expect(readFileSync(join(one.path, 'episodes.jsonl'))).toEqual(
      readFileSync(join(other.path, 'episodes.jsonl')),
    );
    const alone = await played('agents/cartpole', [...cartPole, 'parallel=1'], createScriptedModel(balance));
    expect(alone.games.map(({ seed }) => seed)).toEqual(one.games.map(({ seed }) => seed));
  });

  it('can fail to reply once without ending the game; the agent run fails if no reply comes at all', async () => {
    const failure = new ModelError('server', 'overloaded', { retries: 2, latencyMs: 5 });
    let index = 0;
    const shaky = createScriptedModel((call) => (index++ === 2 ? failure : balance(call)));
    const { calls, games, manifest } = await played('agents/cartpole', cartPole, shaky);
    expect(manifest.status).toBe('completed');
    expect(calls.filter(({ outcome }) => outcome.kind === 'error')).toHaveLength(1);
    expect(games.flatMap(({ turns }) => turns).filter(({ reply }) => reply === '')).toHaveLength(1);
    const dead = await played(
      'agents/cartpole',
      cartPole,
      createScriptedModel(() => failure),
    );
    expect(dead.manifest).toMatchObject({
      status: 'failed',
      reason: { kind: 'model-error', message: 'overloaded' },
      usage: { errors: 6 },
    });
    const strange = new ModelError('authentication', 'no such key', { retries: 0, latencyMs: 0 });
    const refused = await played(
      'agents/cartpole',
      cartPole,
      createScriptedModel(() => strange),
    );
    expect(refused.manifest).toMatchObject({ status: 'failed', usage: { calls: 2 } });
  });

  it.each([
    ['limits.calls=7', { kind: 'limit', limit: 'calls' }],
    ['limits.tokens=4000', { kind: 'limit', limit: 'tokens' }],
  ])('stays within %s', async (limit, reason) => {
    const model = createScriptedModel(balance);
    const { calls, manifest, path } = await played('agents/cartpole', [...cartPole, limit], model);
    expect(manifest).toMatchObject({ status: 'completed', reason });
    expect(calls.length).toBe(model.calls.length);
    const { completionTokens, promptTokens } = manifest.usage;
    expect(calls.length).toBeLessThanOrEqual(limit.startsWith('limits.calls') ? 7 : 1000);
    expect(promptTokens + completionTokens).toBeLessThanOrEqual(4000);
    // With more room it goes on from there, and asks for nothing twice.
    const rest = createScriptedModel(balance);
    const whole = await played('agents/cartpole', cartPole, rest, { path });
    const straight = await played('agents/cartpole', cartPole, createScriptedModel(balance));
    expect(whole.games).toEqual(straight.games);
    expect(model.calls.length + rest.calls.length).toBe(straight.calls.length);
  });

  it.each([1, 3, 4, 11])(
    'resumes games interrupted after %i calls, with the same results as an uninterrupted run',
    async (after) => {
      const straight = await played('agents/cartpole', cartPole, createScriptedModel(balance));
      const stop = new AbortController();
      const model = createScriptedModel((call, index) => {
        if (index + 1 === after) stop.abort();
        return balance(call);
      });
      const cut = await played('agents/cartpole', cartPole, model, { finish: stop.signal });
      expect(cut.manifest).toMatchObject({ status: 'interrupted', reason: { kind: 'interrupted' } });
      const rest = createScriptedModel(balance);
      const { calls, games, manifest, path } = await played('agents/cartpole', cartPole, rest, {
        path: cut.path,
      });
      expect(games).toEqual(straight.games);
      expect(calls).toHaveLength(straight.calls.length);
      expect(model.calls.length + rest.calls.length).toBe(straight.calls.length);
      expect(manifest.usage).toMatchObject({ calls: straight.calls.length, errors: 0 });
      expect(readFileSync(join(path, 'episodes.jsonl'))).toEqual(
        readFileSync(join(straight.path, 'episodes.jsonl')),
      );
    },
  );

  it('resumes from its recorded replies after a crash', async () => {
    const straight = await played('agents/cartpole', cartPole, createScriptedModel(balance));
    const path = join(temporaryDirectory(), 'play');
    const model = createScriptedModel((call, index) => {
      if (index === 27) throw new Error('a bug');
      return balance(call);
    });
    await expect(played('agents/cartpole', cartPole, model, { path })).rejects.toThrow('a bug');
    expect(readPlay(path).manifest.status).toBe('failed');
    const rest = createScriptedModel(balance);
    const { games } = await played('agents/cartpole', cartPole, rest, { path });
    expect(games).toEqual(straight.games);
    expect(rest.calls.length).toBeLessThan(straight.calls.length - 20);
  });

  it('can be replayed offline from its record, unless a prompt has changed', async () => {
    const recorded = await played('agents/cartpole', cartPole, createScriptedModel(balance));
    const replayed = [...cartPole, `model={provider: replayed, run: ${recorded.path}}`];
    const again = await played('agents/cartpole', replayed);
    expect(again.games).toEqual(recorded.games);
    expect(again.manifest).toMatchObject({ status: 'completed', model: 'replayed/scripted/model' });
    expect(again.manifest.usage.promptTokens).toBe(recorded.manifest.usage.promptTokens);
    const other = await played('agents/cartpole', [...replayed, 'policy.prompts=generic']);
    expect(other.manifest).toMatchObject({ status: 'failed', reason: { kind: 'model-error' } });
    expect(JSON.stringify(other.manifest.reason)).toContain('the prompt differs from the recorded one');
    const random = await played('agents/cartpole', ['player=random', 'episodes=1']);
    await expect(
      played('agents/cartpole', [`model={provider: replayed, run: ${random.path}}`]),
    ).rejects.toThrow('no model played in this run');
  });
});

describe('constrained actions', () => {
  const constrained = ['episodes=6', 'parallel=3', 'policy.act=constrained'];

  it('are all valid, even from a model that was not trained to play', async () => {
    const local = 'model={provider: local, path: package:models/tiny-improver, maxTokens: 8}';
    const { games } = await played('agents/blackjack', [...constrained, local]);
    const turns = games.flatMap((game) => game.turns);
    expect(turns.every(({ valid }) => valid)).toBe(true);
    expect(new Set(turns.map(({ reply }) => reply))).toEqual(new Set(['stick', 'hit']));
  });

  it("are rejected if the model can't restrict replies, or if actions can't be listed", async () => {
    await expect(played('agents/blackjack', constrained, createScriptedModel(['hit']))).rejects.toThrow(
      /scripted\/model can't restrict replies to given texts[\s\S]*text, json/,
    );
    const pendulum = ['environment=Pendulum-v1', 'policy.prompts=generic'];
    const held = { ...createScriptedModel(['0']), choosesTexts: true };
    await expect(played('agents/cartpole', [...constrained, ...pendulum], held)).rejects.toThrow(
      "needs a list of the possible actions, which Pendulum-v1 doesn't have",
    );
  });
});
