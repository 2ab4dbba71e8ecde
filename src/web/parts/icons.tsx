import type { FC } from 'hono/jsx'

const paths = {
  check: ['M3 8.5l3.2 3.2L13 5'],
  download: ['M8 3v8M4.5 7.8L8 11.3l3.5-3.5M3 13.5h10'],
  up: ['M8 12V4M4.5 7.5L8 4l3.5 3.5'],
  down: ['M8 4v8M4.5 8.5L8 12l3.5-3.5'],
  lock: ['M4 7.2h8v6H4z', 'M5.6 7.2V5a2.4 2.4 0 0 1 4.8 0v2.2'],
  stop: ['M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2z', 'M8 5v3.6M8 11v.1'],
} as const

/** A line icon in the colour and size of its text, hidden from screen readers: a word is beside it. */
export const Icon: FC<{ name: keyof typeof paths }> = ({ name }) => (
  <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
    {paths[name].map((d) => (
      <path d={d} />
    ))}
  </svg>
)

/** A tower with a circle in it, for agents and people. */
const logoPath =
  'M2 2h4.4v4h3.4V2h4.4v4h3.4V2H22v20H2zm10 7.6a4.3 4.3 0 1 0 0 8.6 4.3 4.3 0 0 0 0-8.6z'

export const Logo: FC = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true">
    <path fill-rule="evenodd" d={logoPath} />
  </svg>
)

/** Served as `/favicon.svg`; follows the theme of the browser. */
export const faviconSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">' +
  '<style>path{fill:#0b6070}@media(prefers-color-scheme:dark){path{fill:#66c3d0}}</style>' +
  `<path fill-rule="evenodd" d="${logoPath}"/></svg>`
