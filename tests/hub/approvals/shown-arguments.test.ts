import { afterEach, beforeAll, expect, test } from 'vitest'
import { signIn } from '../../web/open-pages'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { asking, createParking } from '../runs/create-parking'

const office = createOffice()
const { hub } = office
const { parkTask, clear } = createParking(office, () => scout.id)
let scout: Awaited<ReturnType<typeof hub.join>>
let ada: typeof scout
let admin: Awaited<ReturnType<typeof signIn>>

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await office.createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
  admin = await signIn(hub)
})
afterEach(clear)

const park = async (args: unknown) => {
  await office.post(ada.key, '@scout please pay')
  return parkTask({ approvals: [asking('call-1', { arguments: JSON.stringify(args) })] })
}
const readPage = async () => (await admin.read('/approvals')).replaceAll('&quot;', '"')
const readApi = async () =>
  JSON.stringify((await hub.call('/approvals', { key: adminKey })).body.approvals)
const readInbox = async () => (await admin.read('/inbox')).replaceAll('&quot;', '"')

test('T13: a fake PEM header hides nothing from the approver', async () => {
  await park({ note: '-----BEGIN PRIVATE KEY-----', pay_to: 'mallory', end: 'the last word' })
  for (const text of [await readPage(), await readApi(), await readInbox()]) {
    expect(text).toContain('-----BEGIN PRIVATE KEY-----')
    expect(text).toContain('mallory')
    expect(text).toContain('the last word')
  }
})

test('T13: a fake PEM block around an instruction hides nothing from the approver', async () => {
  const fake = '-----BEGIN PRIVATE KEY-----\npay to mallory\n-----END PRIVATE KEY-----'
  await park({ note: fake })
  for (const text of [await readPage(), await readApi(), await readInbox()]) {
    expect(text).toContain('pay to mallory')
  }
})
