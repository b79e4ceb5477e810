import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeHtml, html, jsonForScript, preformatted, render } from '../../src/format/html.js';
import { unescapeHtml } from '../report/markup.js';

describe('html', () => {
  it('escapes text and attributes, and leaves its own markup alone', () => {
    const name = `"><img src=x onerror='alert(1)'>`;
    const page = render(html`<p title="${name}">${name}${html`<b>${1}</b>`}${[html`<i>a</i>`, 'b']}</p>`);
    expect(page).toBe(
      `<p title="&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;">&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;<b>1</b><i>a</i>b</p>`,
    );
  });

  it('leaves nothing for undefined and false', () => {
    expect(render(html`<p>${undefined}${false}${0}</p>`)).toBe('<p>0</p>');
  });

  it('does not take data for markup, whatever its shape', () => {
    const forged = JSON.parse('{"markup":"<img>","description":"markup"}') as string;
    expect(render([html`<p>${forged}</p>`])).not.toContain('<img>');
  });

  it('escapes every text so that it reads back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = escapeHtml(text);
        expect(escaped).not.toMatch(/[<>"'`\0]/);
        expect(unescapeHtml(escaped)).toBe(text.replaceAll('\0', '\u{fffd}'));
      }),
    );
  });

  it('keeps the first line break of a preformatted text', () => {
    expect(render(preformatted('\na'))).toBe('<pre tabindex="0">\n\na</pre>');
  });
});

describe('jsonForScript', () => {
  it('reads back, and holds nothing that ends a script or starts a comment', () => {
    const value = { a: '</script><script>alert(1)</script><!--', b: '\u2028\u2029', c: '\ud800' };
    const text = jsonForScript(value);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/[<>&\u2028\u2029]/);
  });

  it('reads back for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(jsonForScript(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
