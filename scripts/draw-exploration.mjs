// npm run draw-exploration
//
// Runs the story of agents that explore for a day (tests/stories/exploration-day.test.ts) and draws
// what they did as docs/exploration.svg. The same run draws the same picture.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './local-state.mjs'

const story = 'tests/stories/exploration-day.test.ts'
const hourMs = 3_600_000
const width = 880
const left = 96
const right = 236
const top = 56
const rowHeight = 34

/**
 * @typedef {{ agent: string, at: number, shown: string[], answered: string | null }} Turn
 * @typedef {{ begin: number, turns: Turn[], agents: string[], posts: number[] }} Day
 */

const day = runStory()
writeFileSync(join(root, 'docs/exploration.svg'), draw(day))
console.log(`docs/exploration.svg: ${day.turns.length} turns of ${day.agents.length} agents.`)

/** @returns {Day} */
function runStory() {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-'))
  const file = join(folder, 'story.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--project', 'hub', story, '--reporter=json', `--outputFile=${file}`]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) {
    console.error(stderr)
    console.error(`The story failed: npx vitest run --project hub ${story}`)
    process.exit(1)
  }
  const report = JSON.parse(readFileSync(file, 'utf8'))
  rmSync(folder, { recursive: true })
  /** @type {{ meta?: { day?: Day } }[]} */
  const tests = report.testResults[0].assertionResults
  const found = tests.find(({ meta }) => meta?.day)?.meta?.day
  if (!found) throw new Error('The story did not report its day.')
  return found
}

/** @param {Day} day */
function draw({ begin, turns, agents, posts }) {
  const height = top + rowHeight * agents.length + 52
  const x = (/** @type {number} */ at) =>
    round(left + ((at - begin) / (24 * hourMs)) * (width - left - right))
  const bottom = top + rowHeight * agents.length
  const hours = Array.from({ length: 9 }, (_, each) => each * 3)
  const grid = hours.map(
    (hour) =>
      `<path class="grid" d="M${x(begin + hour * hourMs)} ${top - 8}V${bottom}"/>` +
      `<text class="small" text-anchor="middle" x="${x(begin + hour * hourMs)}" y="${bottom + 18}">${String(hour).padStart(2, '0')}:00</text>`,
  )
  const ticks = posts.map((at) => `<path class="post" d="M${x(at)} ${top - 26}v12"/>`)
  const rows = agents.map((agent, index) => drawRow(agent, top + rowHeight * (index + 0.5)))
  const replies = turns.filter(({ answered }) => answered).length

  /** @param {string} agent @param {number} y */
  function drawRow(agent, y) {
    const own = turns.filter((turn) => turn.agent === agent)
    const marks = own.map(({ at, shown, answered }) => {
      const what = answered ? 'answered one' : 'nothing to add'
      const time = new Date(at).toISOString().slice(11, 16)
      return (
        `<circle class="${answered ? 'reply' : 'pass'}" cx="${x(at)}" cy="${y}" r="5">` +
        `<title>${agent}, ${time}: ${count(shown.length, 'post')} found, ${what}</title></circle>`
      )
    })
    const found = new Set(own.flatMap(({ shown }) => shown)).size
    const answers = own.filter(({ answered }) => answered).length
    const sums =
      own.length === 0
        ? 'nothing found, no exploration'
        : `${count(found, 'post')} found, ${count(answers, 'reply', 'replies')}, ${count(own.length - answers, 'pass', 'passes')}`
    return [
      `<path class="row" d="M${left} ${y}H${width - right}"/>`,
      `<text text-anchor="end" x="${left - 12}" y="${y + 4}">${agent}</text>`,
      ...marks,
      `<text class="small" x="${width - right + 14}" y="${y + 4}">${sums}</text>`,
    ].join('\n')
  }

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="13">
<title id="t">A day of agents that explore</title>
<desc id="d">${count(posts.length, 'post')} were written and ${count(turns.length, 'turn')} taken: ${count(replies, 'reply', 'replies')}, ${count(turns.length - replies, 'pass', 'passes')}. A row an agent, left to right the hours of the day.</desc>
<style>
svg { --ink: #18211e; --ink3: #5f6b66; --line: #dfe4df; --reply: #0b6070; --bg: #fdfdfb; --post: #a2430c }
@media (prefers-color-scheme: dark) {
svg { --ink: #e7ebe8; --ink3: #93a09a; --line: #2a322f; --reply: #66c3d0; --bg: #121615; --post: #f2a06c }
}
.bg { fill: var(--bg) } text { fill: var(--ink) } .small { fill: var(--ink3); font-size: 12px }
path { stroke: var(--line); fill: none } .post { stroke: var(--post); stroke-width: 2 }
.reply { fill: var(--reply); stroke: var(--reply); stroke-width: 1.5 }
.pass { fill: var(--bg); stroke: var(--reply); stroke-width: 1.5 }
</style>
<rect class="bg" width="${width}" height="${height}" rx="8"/>
<text text-anchor="end" x="${left - 12}" y="${top - 16}">posts</text>
${[...grid, ...ticks, ...rows].join('\n')}
<circle class="reply" cx="${left + 6}" cy="${height - 14}" r="5"/><text class="small" x="${left + 18}" y="${height - 10}">an exploration with a reply</text>
<circle class="pass" cx="${left + 156}" cy="${height - 14}" r="5"/><text class="small" x="${left + 168}" y="${height - 10}">an exploration with nothing to add</text>
</svg>
`
}

/** @param {number} n @param {string} one */
function count(n, one, many = `${one}s`) {
  return `${n} ${n === 1 ? one : many}`
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10
}
