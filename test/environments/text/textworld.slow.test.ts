import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { buildGame, TextWorldPlay } from '../../../src/environments/text/textworld/game.js';
import { readGame } from '../../../src/environments/text/textworld/game-file.js';
import { parseLogic } from '../../../src/environments/text/textworld/logic.js';
import { dialects } from '../../../src/environments/text/textworld/quests.js';
import { makeEnvironment } from '../../../src/index.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { goldenGame, goldenGames, goldenTraces } from './golden.js';

const words = (text: string | null) => (text ?? '').replaceAll(/\s+/g, ' ').trim();

/** Removes the remark of a compiled game about which of two things with a common word it takes. */
const withoutRemark = (text: string) => text.replace(/^\([^)]*\) /, '');

describe.each(goldenGames)('%s', (name) => {
  it.each(dialects)('has the same states as TextWorld after every step (%s)', (dialect) => {
    const game = buildGame(goldenGame(name), dialect);
    for (const trace of goldenTraces(name)) {
      const play = new TextWorldPlay(game);
      for (const { step, command, [dialect]: wanted } of trace) {
        if (command === null) play.start();
        else play.step(command);
        const { admissible, won, lost } = play;
        expect({ step, admissible, won, lost }).toEqual({
          step,
          admissible: wanted.admissible_commands,
          won: wanted.won,
          lost: wanted.lost,
        });
        if (wanted.score !== null) expect({ step, score: play.score }).toEqual({ step, score: wanted.score });
      }
    }
  });

  it('prints the text of the compiled game, without its remarks in parentheses', () => {
    const game = buildGame(goldenGame(name), 'z8');
    for (const trace of goldenTraces(name)) {
      const play = new TextWorldPlay(game);
      for (const { step, command, z8 } of trace) {
        const text = command === null ? play.start() : play.step(command).text;
        expect({ step, text: words(text) }).toEqual({ step, text: withoutRemark(words(z8.text)) });
        if (z8.done) continue;
        expect({ step, text: words(play.description) }).toEqual({ step, text: words(z8.description) });
        expect({ step, text: words(play.inventory) }).toEqual({ step, text: words(z8.inventory) });
      }
    }
  });

  it('is won by its walkthrough', () => {
    const play = new TextWorldPlay(buildGame(goldenGame(name), 'z8'));
    play.start();
    for (const command of play.gold!) play.step(command);
    expect(play).toMatchObject({ won: true, lost: false, score: play.maxScore });
  });
});

describe('a command', () => {
  const play = new TextWorldPlay(buildGame(goldenGame('cooking-r1-t1-cook-s3'), 'z8'));

  it('that is invalid changes nothing and never throws', () => {
    const random = createGenerator(0);
    play.start();
    const before = [play.description, play.inventory, play.admissible, play.score, play.moves];
    for (let i = 0; i < 2000; i++) {
      const length = random.integers(0, 12);
      const command = Array.from({ length }, () => String.fromCharCode(random.integers(0, 0x250))).join('');
      if (play.admissible.includes(command.trim())) continue;
      expect(play.step(command).understood).toBe(false);
    }
    expect([play.description, play.inventory, play.admissible, play.score, play.moves]).toEqual(before);
  });

  it('can prepare an unfinished meal in the json dialect, but not in z8', () => {
    const fetch = 'take egg from fridge';
    play.start();
    play.step(fetch);
    expect(play.admissible).toContain('prepare meal');
    expect(play.step('prepare meal').text).toBe('Something still needs to be cooked.');
    expect(play.inventory).toContain('egg');
    const free = new TextWorldPlay(buildGame(goldenGame('cooking-r1-t1-cook-s3'), 'json'));
    free.start();
    free.step(fetch);
    free.step('prepare meal');
    expect(free.inventory).toContain('meal');
  });
});

describe('invalid rules', () => {
  it.each([
    ['type a {\n rules {\n  x :: at(P, r) at(P, r);\n }\n}', 3],
    ['type a { wishes { } }', 1],
    ['type a {\n\n rules { x :: at(P -> ; } }', 3],
    ['type a { rules { x :: at(P, r) -> at(P, r) } }', 1],
    ['type a {\n ¬ }', 2],
    ['type a {', undefined],
  ])('are rejected, with their line if it is known: %j', (text, line) => {
    try {
      parseLogic(text);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      expect((error as UserError).problems[0]).toMatchObject({ field: 'KB.logic', ...(line && { line }) });
    }
  });

  it('an error for an unknown part of a type lists the known parts', () => {
    expect(() => parseLogic('type a { wishes { } }')).toThrow(/predicates, rules[\s\S]*got: "wishes"/);
  });

  it('an alias that is defined in terms of itself is rejected', () => {
    const text = 'type a { predicates { x(a) = y(a); y(a) = x(a); } rules { go :: x(a) -> y(a); } }';
    expect(() => parseLogic(text)).toThrow('defined in terms of itself');
  });
});

describe('makeEnvironment', () => {
  const directory = temporaryDirectory();
  const file = join(directory, 'game.json');
  writeFileSync(file, JSON.stringify(goldenGame('coin-level5-s2')));

  it('returns an environment with texts as observations, the infos of TextWorld, and score gains as rewards', async () => {
    const environment = await makeEnvironment(`textworld:${file}`);
    expect(environment.reset(0)).toContain('-= Workshop =-');
    expect(environment.info!()).toEqual({
      score: 0,
      maxScore: 1,
      won: false,
      lost: false,
      moves: 0,
      admissible: ['go north', 'inventory', 'look'],
    });
    const steps = environment.gold!()!.map((command) => environment.step(command));
    expect(steps.map(({ reward }) => reward)).toEqual([0, 0, 0, 0, 1]);
    expect(steps.map(({ terminated }) => terminated)).toEqual([false, false, false, false, true]);
    expect(environment.info!()).toMatchObject({ score: 1, won: true, moves: 5 });
  });

  it('creates our own worlds by name, with options', async () => {
    const environment = await makeEnvironment('text:cooking', { rooms: 1, maxEpisodeSteps: 2 });
    expect(environment.reset(1)).toEqual(environment.reset(1));
    environment.step('nonsense');
    expect(environment.info!().moves).toBe(0);
    expect(environment.step('look').truncated).toBe(true);
    expect(environment.info!().moves).toBe(1);
  });

  it('creates numeric environments and the bandit by id', async () => {
    expect((await makeEnvironment('CartPole-v1')).reset(0)).toHaveLength(4);
    expect((await makeEnvironment('bandit')).reset(0)).toEqual(expect.any(String));
  });

  it.each([
    [`textworld:${file}x`, {}, 'the game file does not exist'],
    [`textworld:${file}`, { dialect: 'z5' }, 'dialect'],
    ['text:cooking', { rooms: 0 }, 'rooms'],
    ['text:cookin', {}, 'cookin'],
  ])('rejects %s with %j', async (id, options, message) => {
    await expect(makeEnvironment(id, options)).rejects.toThrow(message);
  });
});

describe('a game with the objective', () => {
  const golden = goldenGame(goldenGames[0]!);
  const read = (objective: unknown, desc: readonly unknown[]) => {
    const file = join(temporaryDirectory(), 'game.json');
    const [quest] = golden.quests;
    const quests = desc.map((text) => ({ ...quest, desc: text }));
    writeFileSync(file, JSON.stringify({ ...golden, objective, quests }));
    return new TextWorldPlay(buildGame(readGame(file), 'json')).objective;
  };

  it.each([
    [null, ['Find the coin.', '', null, 'Eat it.'], 'Find the coin.\nAND\nEat it.'],
    [undefined, ['Find the coin.'], 'Find the coin.'],
    [null, [''], undefined],
    ['Be happy.', ['Find the coin.'], 'Be happy.'],
    ['', ['Find the coin.'], undefined],
  ])('%j and the quests %j is read with the objective %j', (objective, desc, expected) => {
    expect(read(objective, desc)).toBe(expected);
  });
});
