// What a program does that opens a pull request: it changes its repository first.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

export async function act({ useTool }) {
  writeFileSync('fixed.txt', 'fixed\n')
  const asked = spawnSync('git', ['branch', '--show-current'], { encoding: 'utf8' })
  const status = await useTool('r1', 'github_create_pull_request', {
    owner: 'acme',
    repo: 'tools',
    title: 'Fix the date parser',
    base: 'main',
    head: asked.stdout.trim(),
  })
  return [status === 'failed' ? 'Not opened.' : 'I opened a pull request.']
}
