import type { Hono } from 'hono'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import { createKey, keyInput, removeKey } from '../../hub/keys/actions'
import { selectOwnExpiry, selectOwnKeys } from '../../hub/keys/queries'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { type KeyFormState, KeysPage, keyForm } from './keys-page'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  settingsPage,
} from './require-sign-in'

const emptyForm = (): KeyFormState =>
  createForm({ label: '', scopes: 'read write', expires_on: '' })

/** Registers `/settings/keys`: the keys of the viewer's programs. */
export function registerKeySettings(app: Hono<HubEnv>): void {
  app.get(
    '/settings/keys',
    settingsPage((c) => showKeys(c, { form: emptyForm() })),
  )
  app.post('/settings/keys', page(addKey))
  app.post(
    '/settings/keys/delete',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await removeKey(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect('/settings/keys', 303)
    }),
  )
}

/** Creates a key and shows it in the response: a redirect would put it into the browser's history. */
async function addKey(c: PageContext): Promise<Response> {
  const read = readFormWith(keyInput, await readForm(c), keyForm)
  try {
    const viewer = await requireReadingSender(c)
    if (!read.isValid) return showKeys(c, { form: read.form, status: 400 })
    const { answer } = await createKey(
      c.var.context,
      await readFormActor(c, viewer),
      viewer.keyId,
      read.value,
    )
    return showKeys(c, { form: emptyForm(), created: answer })
  } catch (error) {
    return showKeys(c, rejectForm(keyForm, read.form, error))
  }
}

interface Shown {
  form: KeyFormState
  created?: { label: string; apiKey: string }
  status?: number
}

async function showKeys(c: PageContext, { form, created, status = 200 }: Shown): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    keys: selectOwnKeys(credential, now),
    own: selectOwnExpiry(credential, now),
  })
  assertSignedIn(frame)
  const endsAt = answers.own?.expiresAt ?? null
  const props = { frame, form, keys: answers.keys, created: created ?? null, endsAt }
  return sendPage(c, <KeysPage {...props} />, status)
}
