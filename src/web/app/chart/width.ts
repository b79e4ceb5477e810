import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A reference to an element, and its width in pixels; 640 until it is known. */
export function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const box = place.current;
    if (box === null) return;
    const measure = () => setWidth((last) => box.clientWidth || last);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return [place, width] as const;
}
