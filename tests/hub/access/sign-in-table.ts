import { createSoftwareBrowser } from '../../support/software-browser'
import type { Table } from './cells'
import { sendImageForm } from './show-image'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })
const only = (fields: Record<string, string>) => () => ({ body: fields })

/** Who can sign in, and change how: the pages of sign-in and of settings. */
export const signInTable: Table = {
  'GET /login': { expect: 'open' },
  'POST /login': { expect: 'open', send: (world) => form('/login', { key: world.piet.key }) },
  'POST /login/link': {
    expect: 'open',
    send: async (world) => form('/login/link', { token: await world.newLink() }),
  },
  'POST /login/passkey/options': { expect: 'open', send: only({}) },
  'POST /login/passkey': {
    expect: 'open',
    send: async (world) => form('/login/passkey', { response: await world.signWithPasskey() }),
  },
  'POST /login/oidc': { expect: 'open', send: only({}) },
  'POST /login/github': { expect: 'open', send: only({}) },
  'GET /login/oidc/callback': {
    expect: 'attempt',
    send: () => ({ path: '/login/oidc/callback?code=x&state=x' }),
  },
  'GET /login/github/callback': {
    expect: 'attempt',
    send: () => ({ path: '/login/github/callback?code=x&state=x' }),
  },
  'POST /logout': { expect: 'open', endsSession: true, send: only({}) },

  // Everybody has settings; what they show and change is the viewer's own.
  'GET /settings': { expect: 'own' },
  'POST /settings/profile': {
    expect: 'write',
    send: only({ display_name: 'A name', description: 'A text' }),
  },
  'POST /settings/picture': { expect: 'write', send: sendImageForm },
  // A theme is kept in the browser alone.
  'POST /settings/theme': { expect: 'open', send: only({ theme: 'dark' }) },
  // So are dismissed first steps.
  'POST /first-steps': { expect: 'open', send: only({}) },
  'GET /settings/sign-in': { expect: 'own' },
  // A session that lacks a scope adds no way to sign in (T16).
  'POST /settings/sign-in/passkeys/options': {
    expect: 'write',
    except: { writer: 403 },
    send: only({}),
  },
  'POST /settings/sign-in/passkeys': {
    expect: 'secretWrite',
    except: {
      guest: 400,
      member: 400,
      external: 400,
      moderator: 400,
      other: 400,
      admin: 400,
      writer: 403,
    },
    send: async (world) =>
      form('/settings/sign-in/passkeys', {
        label: 'Laptop',
        response: await world.makePasskey(),
      }),
  },
  'POST /settings/sign-in/passkeys/delete': {
    expect: 'secretWrite',
    send: async (world) =>
      form('/settings/sign-in/passkeys/delete', { id: await world.newPasskey(world.olga) }),
  },
  'POST /settings/sign-in/oidc': { expect: 'write', except: { writer: 403 }, send: only({}) },
  'POST /settings/sign-in/github': { expect: 'write', except: { writer: 403 }, send: only({}) },
  'POST /settings/sign-in/identities/delete': {
    expect: 'secretWrite',
    send: async (world) =>
      form('/settings/sign-in/identities/delete', { id: await world.newIdentity(world.olga) }),
  },
  'GET /settings/connections': { expect: 'own' },
  'POST /settings/connections/disconnect': {
    expect: 'secretWrite',
    send: async (world) =>
      form('/settings/connections/disconnect', {
        service: await world.newConnectedAccount(world.olga),
      }),
  },
  'GET /connect/:service': { expect: 'own', send: () => ({ path: '/connect/signin' }) },
  'POST /connect/:service': {
    expect: 'write',
    send: () => form('/connect/signin', { next: '/' }),
  },
  'GET /connect-callback': {
    expect: 'attempt',
    send: () => ({ path: '/connect-callback?code=x&state=x' }),
  },
  'GET /settings/notifications': { expect: 'own' },
  'POST /settings/notifications': {
    expect: 'write',
    send: only({
      mention_push: 'on',
      quiet_from: '',
      quiet_to: '',
      timezone: 'UTC',
      digest_hour: '8',
    }),
  },
  // The answer shows a secret on a page, which a session without the read scope cannot see.
  'POST /settings/feed-token': { expect: 'write', except: { writer: 403 }, send: only({}) },
  'POST /settings/feed-token/delete': { expect: 'write', send: only({}) },
  'POST /settings/notifications/devices': {
    expect: 'write',
    send: async () =>
      form('/settings/notifications/devices', {
        label: 'Phone',
        subscription: (await createSoftwareBrowser('https://push.example')).subscription,
      }),
  },
  'POST /settings/notifications/devices/delete': {
    expect: 'secretWrite',
    send: async (world) =>
      form('/settings/notifications/devices/delete', { id: await world.newPushDevice(world.olga) }),
  },
  // The device was made with no key of this hub.
  'POST /settings/notifications/devices/test': {
    expect: 'secretWrite',
    except: { owner: 409, writer: 409 },
    send: async (world) =>
      form('/settings/notifications/devices/test', { id: await world.newPushDevice(world.olga) }),
  },
  'GET /settings/sessions': { expect: 'own' },
  'POST /settings/sessions/end': {
    expect: 'secretWrite',
    send: async (world) =>
      form('/settings/sessions/end', { id: await world.newBrowserSession(world.olga) }),
  },
  'POST /settings/sessions/end-others': {
    expect: 'write',
    endsSession: true,
    send: only({}),
  },
  // The answer shows a secret on a page, which a session without the read scope cannot see.
  'POST /settings/sessions/link': { expect: 'write', except: { writer: 403 }, send: only({}) },
  'GET /settings/keys': { expect: 'own' },
  'POST /settings/keys': {
    expect: 'write',
    except: { writer: 403 },
    send: only({ label: 'A key', scopes: 'write', expires_on: '' }),
  },
  'POST /settings/keys/delete': {
    expect: 'secretWrite',
    send: async (world) => form('/settings/keys/delete', { id: await world.newKey(world.olga) }),
  },
}
