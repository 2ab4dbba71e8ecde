import type { FC, PropsWithChildren } from 'hono/jsx'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { type SettingsTab, SettingsTabs } from './settings-tabs'

interface SettingsLayoutProps {
  frame: Frame
  tab: SettingsTab
  title: string
  scripts?: ['passkeys'] | ['push'] | ['copy']
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
