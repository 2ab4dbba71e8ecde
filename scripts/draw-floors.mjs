// docs/floors.svg: the modules of src/ and the floors of the hub, with arrows for the imports that are
// there. With `--check` it only says whether the picture is up to date.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, posix } from 'node:path'
import { root } from './local-state.mjs'

/** @type {{ hubFloors: string[][] }} */
const { hubFloors } = createRequire(import.meta.url)('../.dependency-cruiser.cjs')
const floorNames = ['contract', 'kit', 'rules', 'features', 'edge']
/** Where the boxes of modules stand, in columns and rows. @type {Record<string, [number, number]>} */
const places = {
  root: [1, 0],
  web: [0, 1],
  hub: [1, 2],
  agents: [0, 3],
  'mcp-servers': [2, 2],
  shared: [1, 4],
}
const width = 880
const line = 'stroke="#57606a" stroke-width="1.2" fill="none" marker-end="url(#arrow)"'
const picture = join(root, 'docs/floors.svg')

/** @returns {[from: string, to: string][]} files of `src/`, both without their extension */
function readImports() {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) =>
      [...readFileSync(join(root, 'src', name), 'utf8').matchAll(/ from '(\.[^']+)'/g)].map(
        ([, to = '']) =>
          /** @type {[string, string]} */ ([
            name.replace(/\.tsx?$/, ''),
            posix.join(posix.dirname(name), to).replace(/\.tsx?$/, ''),
          ]),
      ),
    )
    .filter(([, to]) => toModule(to) in places)
}

/** The module of a file; `root` for what stands directly in `src/`. @param {string} file */
function toModule(file) {
  const [folder = ''] = file.split('/')
  return file.includes('/') ? folder : 'root'
}

/** The floor of a file of the hub; -1 for others. @param {string} file */
function toFloor(file) {
  const [module, folder = ''] = file.split('/')
  return module === 'hub' ? hubFloors.findIndex((names) => names.includes(folder)) : -1
}

/**
 * Lists which parts import which others.
 *
 * @param {(file: string) => string | number} toPart
 * @returns {Map<string, { from: string | number, to: string | number, isContract: boolean }>}
 */
function listArrows(toPart) {
  const arrows = new Map()
  for (const [from, to] of imports.map((pair) => pair.map(toPart))) {
    if (from !== to) arrows.set(`${from}>${to}`, { from, to, isContract: true })
  }
  for (const [from, to] of imports) {
    const arrow = arrows.get(`${toPart(from)}>${toPart(to)}`)
    if (arrow && !/^[^/]+\/contract\//.test(to)) arrow.isContract = false
  }
  return arrows
}

/** @param {number} x @param {number} y @param {string} label @param {string} [style] */
const write = (x, y, label, style = '') => `<text x="${x}" y="${y}" ${style}>${label}</text>`

/** @param {number} x @param {number} y @param {number} w @param {number} h @param {string} fill */
const drawBox = (x, y, w, h, fill) =>
  `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="6" fill="${fill}" stroke="#57606a"/>`

/** Boxes of the modules; an arrow is dashed where only contracts are imported. */
function drawModules() {
  const at = (/** @type {string | number} */ name) => {
    const [column, row] = places[name] ?? [0, 0]
    return { x: 150 + column * 290, y: 60 + row * 76 }
  }
  const lines = [...listArrows(toModule).values()].map(({ from, to, isContract }) => {
    const [a, b] = [at(from), at(to)]
    const side = a.y === b.y ? Math.sign(b.x - a.x) : 0
    const down = side === 0 ? Math.sign(b.y - a.y) : 0
    // an arrow back stands beside the one there
    const shift = down < 0 ? 14 : 0
    return `<path d="M${a.x + side * 84 + shift} ${a.y + down * 18}L${b.x - side * 88 + shift} ${b.y - down * 22}" ${line}${isContract ? ' stroke-dasharray="5 4"' : ''}/>`
  })
  const boxes = Object.keys(places).map((name) => {
    const { x, y } = at(name)
    const label = name === 'root' ? 'worker.ts, compose*.ts' : `${name}/`
    return (
      drawBox(x - 84, y - 18, 168, 36, '#ddf4ff') + write(x, y + 5, label, 'text-anchor="middle"')
    )
  })
  return [...lines, ...boxes]
}

/** The floors of the hub, the first at the bottom. @param {number} top */
function drawFloors(top) {
  const rows = hubFloors.map((names, at) => ({ names, y: top + (hubFloors.length - 1 - at) * 84 }))
  const boxes = rows.flatMap(({ names, y }, at) => [
    drawBox(20, y, 700, 64, '#f6f8fa'),
    write(34, y + 20, `${at + 1} ${floorNames[at]}: ${names.length}`, 'font-weight="600"'),
    write(34, y + 39, names.slice(0, 10).join(', ')),
    write(34, y + 56, names.slice(10).join(', ')),
  ])
  const lines = [...listArrows(toFloor).values()]
    .filter(({ from, to }) => Number(from) >= 0 && Number(to) >= 0)
    .sort((a, b) => Number(a.from) - Number(b.from) || Number(a.to) - Number(b.to))
    .map(({ from, to }, at) => {
      const x = 736 + at * 13
      const [a, b] = [rows[Number(from)], rows[Number(to)]]
      return `<path d="M720 ${(a?.y ?? 0) + 20}H${x}V${(b?.y ?? 0) + 44}H724" ${line}/>`
    })
  return [...boxes, ...lines]
}

function draw() {
  const top = 430
  const height = top + hubFloors.length * 84
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">`,
    '<title>The modules of src/ and the floors of src/hub/, drawn from the imports</title>',
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>',
    drawBox(1, 1, width - 2, height - 2, '#ffffff'),
    write(20, 28, 'Modules of src/. Dashed: contracts only.', 'font-weight="600"'),
    ...drawModules(),
    write(
      20,
      top - 12,
      'Floors of src/hub/ and how many folders they have: each uses those below it.',
      'font-weight="600"',
    ),
    ...drawFloors(top),
    '</svg>',
  ].join('\n')}\n`
}

const imports = readImports()
const text = draw()
if (!process.argv.includes('--check')) {
  writeFileSync(picture, text)
} else if (readFileSync(picture, 'utf8') !== text) {
  console.error('docs/floors.svg is not up to date: run `npm run write-reference`.')
  process.exitCode = 1
}
