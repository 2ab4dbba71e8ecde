import type { Handler } from 'hono'
import type { FC, PropsWithChildren } from 'hono/jsx'
import { type HubEnv, httpErrors, readCredential, requireViewer } from '../../hub/http/page-entry'
import type { Credential, Viewer } from '../../hub/viewers/queries'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { redirectFromAddress } from '../frame/requests'
import { type PageContext, page, pageErrors } from '../frame/send-page'

interface SettingsLayoutProps {
  frame: Frame
  tab: SettingsTab
  title: string
  scripts?: ('passkeys' | 'push' | 'copy')[]
}

/** The layout of all settings pages. */
export const SettingsLayout: FC<PropsWithChildren<SettingsLayoutProps>> = (props) => (
  <Layout
    frame={props.frame}
    title={props.title}
    sheet="admin"
    {...(props.scripts ? { scripts: props.scripts } : {})}
  >
    <h1>Settings</h1>
    <SettingsTabs chosen={props.tab} />
    <div>{props.children}</div>
  </Layout>
)

const tabs = {
  profile: { path: '/settings', label: 'Profile' },
  'sign-in': { path: '/settings/sign-in', label: 'Sign-in' },
  connections: { path: '/settings/connections', label: 'Connections' },
  notifications: { path: '/settings/notifications', label: 'Notifications' },
  sessions: { path: '/settings/sessions', label: 'Sessions' },
  keys: { path: '/settings/keys', label: 'Keys' },
  webhooks: { path: '/settings/webhooks', label: 'Webhooks' },
  triggers: { path: '/settings/triggers', label: 'Triggers' },
} as const

type SettingsTab = keyof typeof tabs

/** Tabs of the settings of an account. */
const SettingsTabs: FC<{ chosen: SettingsTab }> = ({ chosen }) => (
  <nav class="tabs" aria-label="Settings">
    {Object.entries(tabs).map(([name, { path, label }]) => (
      <a href={path} aria-current={name === chosen ? 'page' : undefined}>
        {label}
      </a>
    ))}
  </nav>
)

/** @throws UNAUTHORIZED without a key or session */
export async function requireCredential(c: PageContext): Promise<Credential> {
  const credential = await readCredential(c)
  if (credential) return credential
  throw pageErrors.signInRequired()
}

/**
 * Returns the viewer of a form whose answer shows a secret once: it must be able to see the page.
 *
 * @throws UNAUTHORIZED, FORBIDDEN without both scopes
 */
export async function requireReadingSender(c: PageContext): Promise<Viewer> {
  const viewer = await requireViewer(c, 'write')
  if (!viewer.scopes.includes('read')) throw httpErrors.sessionScope('read')
  return viewer
}

/** @throws UNAUTHORIZED for a session that has ended */
export function assertSignedIn(frame: Frame): asserts frame is Frame & { viewer: PageViewer } {
  if (!frame.viewer) throw pageErrors.signInRequired()
}

/** Wraps a page of the settings, which moves from an address of this machine to `localhost`. */
export const settingsPage = (show: (c: PageContext) => Promise<Response>): Handler<HubEnv> =>
  page((c) => redirectFromAddress(c) ?? show(c))
