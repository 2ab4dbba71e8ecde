// npm run write-rows-read: docs/rows-read.md, the rows that every operation reads from D1 in a small hub and in
// a large one. It runs the test of the same name at the sizes of the page, which takes some minutes.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './local-state.mjs'
import { table } from './markdown-table.mjs'

const [small, large] = [1_500, 100_000]

const { stdout, status } = spawnSync('npx', ['vitest', 'run', 'tests/hub/rows/flat.test.ts'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 26,
  env: { ...process.env, ROOKERY_ROWS_POSTS: `${small},${large}` },
})
const line = stdout.split('\n').find((each) => each.includes('ROWS ['))
if (!line) {
  console.error(stdout)
  process.exit(1)
}
// The page shows what grew, too, so it is written in any case.
process.exitCode = status ?? 1

/** @type {{ name: string, small: number, large: number, reason: string }[]} */
const rows = JSON.parse(line.slice(line.indexOf('[{')))
const count = (/** @type {number} */ value) => value.toLocaleString('en-US')
const list = (/** @type {typeof rows} */ chosen) =>
  table(
    ['operation', `${count(small)} posts`, `${count(large)} posts`, ''],
    chosen.map((row) => [row.name, count(row.small), count(row.large), row.reason]),
  )
const isFlat = (/** @type {(typeof rows)[number]} */ row) => row.reason === ''

writeFileSync(
  join(root, 'docs/rows-read.md'),
  `${[
    '# Rows read',
    `Written by \`npm run write-rows-read\`: the rows that D1 reads for one page, API list, tool or step of a run, authentication included. The first hub has ${count(small)} posts, as many comments, votes, mentions, inbox items, runs, usage events and entries of each log, 230 accounts and 115 agents. The second has ${count(large)} of each, 2,200 accounts and 1,100 agents. About a thousand of each are of the last day in both. The person who reads has 47 unread items in both: each costs three rows on every page, up to 1,000 items. \`tests/hub/rows/flat.test.ts\` checks the same operations at smaller sizes in every test run.`,
    '## What grows or is bounded by a constant',
    list(rows.filter((row) => !isFlat(row))),
    '## What does not grow',
    list(rows.filter(isFlat)),
  ].join('\n\n')}\n`,
)
