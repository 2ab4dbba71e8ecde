// The folder of the demo. It is emptied before the month is written, so it has to be the demo's own.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { claimStateDir } from '../claim-state-dir.mjs'
import { PlainError } from '../local-state.mjs'

const unfinished = 'demo-unfinished'
const finished = 'demo'

/**
 * Prepares the folder, in which the month may have to be written. What an interrupted start left is deleted.
 *
 * @param {string} stateDir
 * @returns {Promise<boolean>} whether it has the whole month
 * @throws PlainError for a folder with anything else, or one where a demo is running
 */
export async function prepareDemoFolder(stateDir) {
  if (existsSync(join(stateDir, finished))) return true
  const names = existsSync(stateDir) ? readdirSync(stateDir) : []
  if (names.length > 0 && !names.includes(unfinished)) {
    throw new PlainError(
      `${stateDir} is not empty, and its files are not those of the demo. Name an empty folder: ROOKERY_STATE_DIR=... npm run demo`,
    )
  }
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  writeFileSync(
    join(stateDir, unfinished),
    'The month is being written; the next start begins again.\n',
  )
  const release = await claimStateDir(stateDir)
  release()
  for (const name of readdirSync(stateDir)) {
    if (name !== unfinished) rmSync(join(stateDir, name), { recursive: true, force: true })
  }
  return false
}

/** @param {string} stateDir */
export function finishDemoFolder(stateDir) {
  writeFileSync(
    join(stateDir, finished),
    'The demo of `npm run demo`. Delete this folder to begin again.\n',
  )
  rmSync(join(stateDir, unfinished))
}
