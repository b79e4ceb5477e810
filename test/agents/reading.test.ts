import { describe, expect, it } from 'vitest';
import { type Choice, listedChoices, parseAction } from '../../src/agents/reading.js';
import type { Space } from '../../src/environments/environment.js';

const push: Space = { kind: 'discrete', n: 2 };
const pushes = listedChoices(push, ['left', 'right']);
const commands = (...texts: string[]): readonly Choice[] => texts.map((text) => ({ text, action: text }));
const any: Space = { kind: 'text' };

describe('free text', () => {
  it.each([
    ['LEFT', 0],
    ['not left, but Right.', 1],
    ['left or right', 1],
    ['<think>right</think> left', 0],
    ['**right**', 1],
    // Its number alone is the action, beside other words it counts anything.
    ['1', 1],
    ['(0)', 0],
    ['I have 1 idea', undefined],
    ['2', undefined],
    ['leftover', undefined],
    ['upright', undefined],
    ['', undefined],
    // Thinking that does not end is no answer.
    ['<think>left', undefined],
  ])('%j is read as %s', (reply, action) => {
    expect(parseAction(reply, push, pushes, 'text')).toBe(action);
  });

  const taxi = listedChoices({ kind: 'discrete', n: 2 }, ['pick up', 'drop off']);
  it.each([
    ['pick-up', 0],
    ['Pick\nup', 0],
    ['drop_off now', 1],
    ['pick them up', undefined],
  ])('%j is read as %s if action names have several words', (reply, action) => {
    expect(parseAction(reply, { kind: 'discrete', n: 2 }, taxi, 'text')).toBe(action);
  });

  const now = commands('open door', 'open door to north', 'take key', 'take key from box');
  it.each([
    ['I open door to north', 'open door to north'],
    ['open door', 'open door'],
    ['take key from box, or open door', 'open door'],
    ['> take key from box', 'take key from box'],
    ['TAKE KEY', 'take key'],
    ['open window', undefined],
    ['open doors', undefined],
  ])('%j is read as %s if the possible commands are listed', (reply, action) => {
    expect(parseAction(reply, any, now, 'text')).toBe(action);
  });

  it('is read as its last line if any command is allowed', () => {
    expect(parseAction('I should look.\n\n> examine lamp\n', any, undefined, 'text')).toBe('examine lamp');
    expect(parseAction('\n ', any, undefined, 'text')).toBeUndefined();
  });
});

describe('JSON', () => {
  it.each([
    ['{"action": "right"}', 1],
    ['Sure: ```json\n{"action": "LEFT", "why": {"it": "leans"}}\n```', 0],
    ['{"action": "left"} no, {"action": "right"}', 1],
    ['{"action": 0}', 0],
    ['{"action": "1"}', 1],
    ['{"note": "{"} {"action": "left"}', 0],
    // What is no object with an action of this space names none.
    ['right', undefined],
    ['{"move": "right"}', undefined],
    ['{"action": "go right"}', undefined],
    ['{"action": 2}', undefined],
    ['{"action": null}', undefined],
    ['{"action": ["right"]}', undefined],
    ['{action: "right"}', undefined],
    ['{"action": "right"', undefined],
    ['', undefined],
  ])('%j is read as %s', (reply, action) => {
    expect(parseAction(reply, push, pushes, 'json')).toBe(action);
  });

  it('can hold a vector, a single number for a vector of length 1, or a command', () => {
    const box: Space = { kind: 'box', low: [-1, -1], high: [1, 1] };
    expect(parseAction('{"action": [0.5, -1]}', box, undefined, 'json')).toEqual([0.5, -1]);
    expect(parseAction('{"action": [0.5]}', box, undefined, 'json')).toBeUndefined();
    expect(parseAction('{"action": [0.5, "1"]}', box, undefined, 'json')).toBeUndefined();
    const one: Space = { kind: 'box', low: [-2], high: [2] };
    expect(parseAction('{"action": 1.5}', one, undefined, 'json')).toEqual([1.5]);
    expect(parseAction('{"action": "look"}', any, commands('look', 'wait'), 'json')).toBe('look');
    expect(parseAction('{"action": "dance"}', any, commands('look', 'wait'), 'json')).toBeUndefined();
    expect(parseAction('{"action": "dance"}', any, undefined, 'json')).toBe('dance');
    expect(parseAction('{"action": 3}', any, undefined, 'json')).toBeUndefined();
  });

  it('with thousands of repeated or unfinished objects names no action, and does not hang the parser', () => {
    expect(parseAction('{'.repeat(100_000), push, pushes, 'json')).toBeUndefined();
    expect(parseAction('{}'.repeat(50_000), push, pushes, 'json')).toBeUndefined();
    for (const start of ['{"action": "', '{"action": [', '"action"', '{"action": 1'])
      expect(parseAction(start.repeat(30_000), push, pushes, 'json')).toBeUndefined();
  });
});

describe('choices', () => {
  it('come from the action space or the current state, and are undefined if neither lists actions', () => {
    expect(listedChoices({ kind: 'discrete', n: 2, start: -1 })).toEqual([
      { text: '-1', action: -1 },
      { text: '0', action: 0 },
    ]);
    const pair: Space = {
      kind: 'tuple',
      spaces: [
        { kind: 'discrete', n: 2 },
        { kind: 'discrete', n: 2 },
      ],
    };
    expect(listedChoices(pair)?.map(({ text }) => text)).toEqual(['0, 0', '0, 1', '1, 0', '1, 1']);
    const info = { score: 0, maxScore: 1, won: false, lost: false, moves: 0, admissible: ['look'] };
    expect(listedChoices(any, undefined, info)).toEqual([{ text: 'look', action: 'look' }]);
    expect(listedChoices(any, undefined, { ...info, admissible: null })).toBeUndefined();
    expect(listedChoices({ kind: 'box', low: [0], high: [1] })).toBeUndefined();
  });
});
