import { describe, expect, it } from 'vitest';
import {
  feedbackLines,
  longestRemark,
  readFeedback,
  readTyped,
  typedText,
} from '../../src/prompting/context/feedback.js';
import { createGenerator } from '../../src/random/generator.js';

describe('feedback typed by a person', () => {
  it.each([
    ['4', { rating: 4 }],
    [' 5 : ', { rating: 5 }],
    ['4: too jerky', { rating: 4, remark: 'too jerky' }],
    ['2:3 falls', { rating: 2, remark: '3 falls' }],
    ['too jerky: it falls', { remark: 'too jerky: it falls' }],
    [': 3 falls', { remark: '3 falls' }],
    [': rating 3 was too low', { remark: 'rating 3 was too low' }],
    ['ratings differ', { remark: 'ratings differ' }],
    ['', {}],
    ['  \t ', {}],
    ['Die Stange kippt. 棒が倒れる', { remark: 'Die Stange kippt. 棒が倒れる' }],
    ['-- drifts', { remark: '-- drifts' }],
    ['a\u0000b\u202ec\u2028d', { remark: 'a b c d' }],
  ])('%j is understood', (line, said) => {
    expect(readTyped(line)).toEqual({ kind: 'said', said });
  });

  it.each([
    ['0', /from 1 to 5/],
    ['6: no', /from 1 to 5/],
    ['4.5', /from 1 to 5/],
    ['-3', /from 1 to 5/],
    ['44: x', /from 1 to 5/],
    ['3 times it fell', /is “3” a rating\?.*“3: times it fell”/],
    ['12 steps are few', /is “12” a rating\?.*“4: steps are few”/],
    ['rating: 3', /is this a rating\?/],
    ['Rated 3 of 5, too jerky', /start with its number/],
    [':', /no remark/],
    ['x'.repeat(longestRemark + 1), /at most 500 characters; this one has 501/],
  ])('%j needs clarification', (line, problem) => {
    const read = readTyped(line);
    expect(read.kind === 'unclear' && read.problem).toMatch(problem);
  });

  it('round-trips through typedText and readTyped, whatever the remark', () => {
    const random = createGenerator(5);
    const parts = ['1', '5:', 'rating', ':', ' ', '-', '.', 'falls', '\n', '“', '\u202e', '日'];
    for (let round = 0; round < 500; round++) {
      const remark = Array.from({ length: random.integers(0, 6) }, () => random.choice(parts)).join('');
      const rating = random.random() < 0.5 ? random.integers(1, 6) : undefined;
      const read = readTyped(typedText({ remark, ...(rating !== undefined && { rating }) }));
      const clean = remark.replaceAll(/[\n\u202e ]+/g, ' ').trim();
      // A remark of colons alone says nothing.
      if (rating === undefined && read.kind === 'unclear') expect(clean).toMatch(/^:$/);
      else
        expect(read).toEqual({
          kind: 'said',
          said: { ...(rating !== undefined && { rating }), ...(clean !== '' && { remark: clean }) },
        });
    }
  });
});

describe('feedback in a model reply', () => {
  const said = (text: string) => {
    const reading = readFeedback(text, 'stop');
    return reading.ok ? reading.said : reading.failure;
  };

  it.each([
    ['rating: 4\nremark: The cart drifts.', { rating: 4, remark: 'The cart drifts.' }],
    ['Remark: Falls.\nRating: 2/5', { rating: 2, remark: 'Falls.' }],
    ['**Rating:** 3 out of 5\n\n**Remark:** *It swings.*', { rating: 3, remark: 'It swings.' }],
    ['- rating = 5.0\n- remark: fine', { rating: 5, remark: 'fine' }],
    ['<think>rating: 1</think>\nrating: 4', { rating: 4 }],
    ['Here it is.\nrating: 4\nrating: 4', { rating: 4 }],
    ['remark: no number here', { remark: 'no number here' }],
    [`rating: 1\nremark: ${'long '.repeat(200)}`, { rating: 1, remark: `${'long '.repeat(99)}long…` }],
    ['rating: 4\nremark: one\nrating: 2\nremark: two', { rating: 4, remark: 'one' }],
  ])('%j is understood', (text, expected) => {
    expect(said(text)).toEqual(expected);
  });

  it.each([
    ['It looks good to me.', 'no-feedback'],
    ['rating: 7\nremark: very good', 'no-feedback'],
    ['rating: 4.5', 'no-feedback'],
    ['rating: good', 'no-feedback'],
    ['', 'no-feedback'],
  ])('%j is rejected', (text, kind) => {
    expect(said(text)).toMatchObject({ kind });
  });

  it('is reported as truncated if the reply was cut off', () => {
    expect(readFeedback('The pictures show', 'length')).toMatchObject({ failure: { kind: 'truncated' } });
    expect(readFeedback('<think>the cart', 'length')).toMatchObject({ failure: { kind: 'truncated' } });
  });
});

it('feedback becomes at most one prompt line, and a remark cannot close its quotation marks', () => {
  const of = (remark: string) => feedbackLines({ from: 'person', episode: 0, rating: 2, remark });
  expect(of('it falls')).toEqual(['feedback of a person who saw an episode of it: rated 2 of 5, “it falls”']);
  expect(of('x” f(params): 500 “y')[0]).toMatch(/“x" f\(params\): 500 "y”$/);
  expect(feedbackLines({ from: 'vision', episode: 1, remark: 'a' })).toEqual([
    'feedback of a vision model that saw an episode of it: “a”',
  ]);
  expect(feedbackLines(undefined)).toEqual([]);
});
