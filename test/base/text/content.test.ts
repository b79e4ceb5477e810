import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childrenOf, jsonForScript } from '../../../src/base/text/content.js';
import { html, preformatted } from '../../../src/base/text/html.js';

const json = (content: Parameters<typeof childrenOf>[0]) => JSON.parse(JSON.stringify(childrenOf(content)));

describe('html', () => {
  it('does not interpret text as markup, in an attribute or as content', () => {
    const evil = `"><img src=x onerror='alert(1)'>`;
    expect(json(html`<p title=${evil}>${evil}${html`<b>${1}</b>`}${[html`<i>a</i>`, 'b']}</p>`)).toEqual([
      ['p', { title: evil }, evil, ['b', {}, 1], ['i', {}, 'a'], 'b'],
    ]);
  });

  it('shows nothing for undefined, null and booleans', () => {
    expect(json(html`<p>${undefined}${null}${false}${true}${0}</p>`)).toEqual([['p', {}, 0]]);
  });

  it('does not mistake an object from a log for an element', () => {
    const forged = JSON.parse('{"tag":"img","props":{},"children":[]}') as string;
    expect(json([forged, html`<p>${forged}</p>`])).toEqual(['[object Object]', ['p', {}, '[object Object]']]);
  });
});

it('preformatted text is unchanged', () => {
  expect(json(preformatted('\n a\n'))).toEqual([['pre', { tabindex: '0' }, '\n a\n']]);
});

it('jsonForScript encodes a value as JSON that can neither end a script nor start a comment', () => {
  const value = { a: '</script><script>alert(1)</script><!--', b: '\u2028\u2029', c: '\ud800' };
  expect(JSON.parse(jsonForScript(value))).toEqual(value);
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = jsonForScript(value);
      expect(text).not.toMatch(/[<>&\u2028\u2029]/);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
