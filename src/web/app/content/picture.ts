/** The animation of an episode: part of the page, or requested from the server when it comes into view. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../base/html.js';
import { request } from '../base/live.js';

interface Props {
  readonly alt: string;
  readonly svg?: string;
  /** Address of the picture on the server. */
  readonly address?: string;
}

export function Picture({ address, alt, svg: initialSvg }: Props) {
  const [svg, setSvg] = useState(initialSvg);
  const [problem, setProblem] = useState('');
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (address === undefined) return;
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      request(address)
        .then(async (response) => setSvg(await response.text()))
        .catch((error: Error) => setProblem(error.message));
    });
    observer.observe(container.current!);
    return () => observer.disconnect();
  }, [address]);
  return html`<div class="episode" ref=${container}>${svg === undefined ? html`<p class="empty">${problem || 'Loading …'}</p>` : html`<img src=${`data:image/svg+xml,${encodeURIComponent(svg)}`} alt=${alt} />`}</div>`;
}
