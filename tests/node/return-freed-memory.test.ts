import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const script = join(import.meta.dirname, '../../scripts/return-freed-memory.mjs')
const code = `
  import { returnFreedMemory } from ${JSON.stringify(script)}
  returnFreedMemory()
  console.log(JSON.stringify([process.pid, process.env.MALLOC_TRIM_THRESHOLD_, process.execArgv[0], process.argv[1]]))`

function run(env: Record<string, string>) {
  const args = ['--max-semi-space-size=2', '--input-type=module', '-e', code, 'word']
  const { pid, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  expect(stderr).toBe('')
  const [ownPid, ...rest] = JSON.parse(stdout)
  expect(ownPid).toBe(pid)
  return rest
}

test.runIf(process.platform === 'linux')(
  'the launcher gives back what it frees, as the same process with the same arguments',
  () => {
    expect(run({})).toEqual(['131072', '--max-semi-space-size=2', 'word'])
    expect(run({ MALLOC_TRIM_THRESHOLD_: '7' })[0]).toBe('7')
  },
)
