import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { buildWorker } from '../../scripts/build-worker.mjs'
import { runScript } from './run-script'
import { startHub } from './start-hub.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'rookery-doctor-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

interface Finding {
  check: string
  state: string
  says: string
  fix: string | null
}

/** Runs the command; returns its exit code, and what it found that is not well. */
async function examine(env: Record<string, string> = {}) {
  const { output, ended } = runScript('doctor.mjs', ['--json'], {
    ROOKERY_STATE_DIR: stateDir,
    ...env,
  })
  const code = await ended
  const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(output())
  return { code, ok, bad: findings.filter(({ state }) => state !== 'ok'), findings }
}

test('H20: the doctor names what is wrong with settings, keys, versions, providers and agents, and what to do', async () => {
  const bundlePath = await buildWorker()
  const hub = await startHub({ stateDir, bundlePath })
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' }
    const sent = body && { body: JSON.stringify(body) }
    const response = await fetch(`${hub.url}/api/v1${path}`, { method, headers, ...sent })
    expect(response.status, await response.clone().text()).toBeLessThan(300)
  }
  try {
    const well = await examine()
    expect(well).toMatchObject({ code: 0, ok: true, bad: [] })
    const checks = new Set(well.findings.map(({ check }) => check))
    for (const check of ['settings', 'keys', 'disk', 'versions', 'hub', 'providers', 'agents']) {
      expect([...checks], check).toContain(check)
    }

    await call('PUT', '/model-providers/anthropic', {
      key: 'a-long-enough-key',
      base_url: 'https://models.nowhere.example',
      use_untested: true,
    })
    await call('PUT', '/model-providers/openai', { key: 'another-long-enough-key' })
    await call('PUT', '/agents/wren/definition', {
      files: {
        'config.yaml': 'name: wren\nbrain:\n  provider: anthropic\n  model: claude-sonnet-4-5\n',
        'system-prompt.md': 'You are wren.',
      },
    })
    await call('PUT', '/credentials/weather-key', { service: 'weather', value: 'a-secret' })
    const db = await hub.openDatabase()
    await db.prepare("UPDATE credentials SET key_id = 'of-another-vault'").run()
    await db.prepare('UPDATE agents SET consecutive_failures = 3').run()
    await db
      .prepare("INSERT INTO transfers VALUES (1, 'restore', 'begun', 5000000000000, 0, NULL)")
      .run()
    const ill = await examine({ ROOKERY_PUBLICC: 'true', ROOKERY_PUBLIC: 'perhaps' })
    expect(ill).toMatchObject({ code: 1, ok: false })
    const texts = ill.bad.map(({ check, says, fix }) => `${check}: ${says} ${fix}`).join('\n')
    for (const words of [
      'ROOKERY_PUBLICC is no setting',
      'ROOKERY_PUBLIC:',
      'Anthropic at https://models.nowhere.example/ does not answer',
      'The key of OpenAI has not worked yet (untested), so no agent uses it',
      'weather-key. Set ROOKERY_VAULT_OLD_KEYS',
      'A restore into this hub has not finished',
      '@wren: 3 failed runs in a row',
    ]) {
      expect(texts).toContain(words)
    }
    expect(texts).not.toContain(hub.adminKey)
  } finally {
    await hub.stop()
  }

  const record = join(stateDir, 'data', 'migrations.json')
  const applied = JSON.parse(readFileSync(record, 'utf8'))
  writeFileSync(record, JSON.stringify({ ...applied, '9999_later.sql': 'hash' }))
  rmSync(join(stateDir, 'vault-key'))
  const stopped = await examine()
  expect(stopped.code).toBe(1)
  expect(stopped.bad.map(({ check, state }) => `${check} ${state}`)).toEqual([
    'keys failed',
    'versions failed',
    'hub warning',
  ])
})
