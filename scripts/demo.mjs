// `npm run demo`: a hub with the month of an invented team, to look at and to try. It keeps its own folder
// (.rookery-demo) and port (8788) and never touches the hub of `npm start`.
import { resolve } from 'node:path'
import { finishDemoFolder, prepareDemoFolder } from './demo/demo-folder.mjs'
import { startModel } from './demo/model.mjs'
import { createOfflineAnswers } from './demo/offline.mjs'
import { listScripts, tellMonth } from './demo/story.mjs'
import { prices, writeMonth } from './demo/write-month.mjs'
import { startHub } from './hub-runtime.mjs'
import { demoStateDir } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const stateDir = process.env.ROOKERY_STATE_DIR
  ? resolve(process.env.ROOKERY_STATE_DIR)
  : demoStateDir

await runCli(async () => {
  const isFinished = await prepareDemoFolder(stateDir)
  Object.assign(process.env, {
    ROOKERY_NAME: 'Harbour Lane',
    ROOKERY_PRICES: JSON.stringify(prices),
  })
  if (!isFinished) await write()
  // The agents of the story go on: what it knows is answered by it, everything else by the offline model.
  const model = await startModel(listScripts(tellMonth()), await createOfflineAnswers())
  process.env.OPENAI_COMPATIBLE_BASE_URL = model.url
  process.env.ROOKERY_STATE_DIR = stateDir
  process.env.PORT ||= '8788'
  await import('./start.mjs')
})

async function write() {
  await writeMonth(
    (settings) => startHub({ stateDir, env: { ...process.env, ...settings } }),
    (text) => {
      if (process.stdout.isTTY) process.stdout.write(`\r${text.padEnd(60)}`)
      else console.log(text)
    },
  )
  if (process.stdout.isTTY) process.stdout.write('\n')
  finishDemoFolder(stateDir)
}
