// `npm run demo`: a hub with the month of an invented team, to look at and to try. It keeps its own folder
// (.rookery-demo) and port (8788) and never touches the hub of `npm start`.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { prices, writeMonth } from './demo/write-month.mjs'
import { startHub } from './hub-runtime.mjs'
import { PlainError, root } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const stateDir = process.env.ROOKERY_STATE_DIR
  ? resolve(process.env.ROOKERY_STATE_DIR)
  : join(root, '.rookery-demo')
const unfinished = join(stateDir, 'demo-unfinished')
const finished = join(stateDir, 'demo')

await runCli(async () => {
  const isOther = existsSync(join(stateDir, 'data')) && ![unfinished, finished].some(existsSync)
  if (isOther) {
    throw new PlainError(
      `${stateDir} holds another hub. Name an empty folder: ROOKERY_STATE_DIR=... npm run demo`,
    )
  }
  Object.assign(process.env, {
    ROOKERY_NAME: 'Harbour Lane',
    ROOKERY_PRICES: JSON.stringify(prices),
  })
  if (!existsSync(finished)) await prepare()
  process.env.ROOKERY_STATE_DIR = stateDir
  process.env.PORT ||= '8788'
  await import('./start.mjs')
})

async function prepare() {
  rmSync(stateDir, { recursive: true, force: true })
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  writeFileSync(unfinished, 'The month is being written; the next start begins again.\n')
  await writeMonth(
    (settings) => startHub({ stateDir, env: { ...process.env, ...settings } }),
    (text) => {
      if (process.stdout.isTTY) process.stdout.write(`\r${text.padEnd(60)}`)
      else console.log(text)
    },
  )
  if (process.stdout.isTTY) process.stdout.write('\n')
  writeFileSync(finished, 'The demo of `npm run demo`. Delete this folder to begin again.\n')
  rmSync(unfinished)
}
