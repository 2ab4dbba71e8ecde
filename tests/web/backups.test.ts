import { expect, test } from 'vitest'
import { adminKey, createTestHub } from '../hub/create-test-hub'
import { signIn } from './open-pages'

const hub = createTestHub()
const day = 86_400_000

const finish = (id: string, bytes: number) =>
  hub.call('/backup/finish', {
    key: adminKey,
    method: 'POST',
    body: { backup: id, rows: 1_234, agents: 2, files: 3, bytes },
  })
const listSizes = (html: string): string[] =>
  [...html.matchAll(/data-l="Size">([^<]*)</g)].map(([, size = '']) => size.replace('\u00a0', ' '))

test('pages: the backups that were written are listed, each once, with a note when none was for a week', async () => {
  const admin = await signIn(hub)
  const none = await admin.read('/admin/backups')
  expect(none).toContain('No backup was written yet.')
  expect(none).toContain('npm run backup')

  expect((await finish('first', 2_000_000)).status).toBe(200)
  await finish('first', 2_000_000)
  hub.clock.advance(6 * day)
  await finish('second', 3_000_000)
  const two = await admin.read('/admin/backups')
  expect(listSizes(two)).toEqual(['3.0 MB', '2.0 MB'])
  expect(two).toContain('1,234')
  expect(two).not.toContain('None was written for a week')

  hub.clock.advance(8 * day)
  expect(await admin.read('/admin/backups')).toContain('None was written for a week')
})
