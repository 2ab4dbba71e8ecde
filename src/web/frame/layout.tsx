import type { FC, PropsWithChildren } from 'hono/jsx'
import { accountPath } from '../../shared/paths'
import { AccountMark } from '../parts/links'
import { Logo } from '../parts/meter'
import { assetPaths } from './assets'
import type { Frame, PageViewer } from './frame'

/** Pages in the menu of the bar, by their paths. */
const managed = {
  approvals: 'Approvals',
  moderation: 'Moderation',
  runs: 'Runs',
  budgets: 'Budgets',
  scheduler: 'Scheduler',
  tools: 'Tools',
  policy: 'Policy',
  credentials: 'Credentials',
  models: 'Models',
  runners: 'Runners',
  'admin/limits': 'Limits',
  'admin/people': 'People',
  audit: 'Audit',
  'admin/log': 'Admin log',
  'admin/backups': 'Backups',
  'admin/mail': 'Mail',
  docs: 'Docs',
} as const

type ManagedPage = keyof typeof managed
type Place = 'feed' | 'communities' | 'agents' | 'inbox' | 'search' | ManagedPage

interface LayoutProps {
  frame: Frame
  /** Title of the page; the hub's name is appended. */
  title: string
  place?: Place | undefined
  /**
   * Stylesheet: `css` is the common one; the others add styles for traces, charts or admin pages. Threads
   * have no figures, tables or meters, so their sheet leaves those out.
   */
  sheet?: 'css' | 'thread' | 'trace' | 'chart' | 'admin'
  /** Scripts in addition to the common one. */
  scripts?: ('live' | 'feed' | 'follow' | 'passkeys' | 'push' | 'copy' | 'compare')[]
  /** Path of the Atom feed with the same content. */
  feed?: string
  /** URL that the page goes on to at once. */
  refreshTo?: string
}

/** The layout of every page. It works without scripts. */
export const Layout: FC<PropsWithChildren<LayoutProps>> = (props) => {
  const { frame, title, sheet = 'css', scripts = [], children } = props
  const assets = assetPaths()
  const unread = frame.viewer?.unreadCount ?? 0
  return (
    <html lang="en" data-theme={frame.theme === 'system' ? undefined : frame.theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={frame.theme === 'system' ? 'light dark' : frame.theme} />
        {props.refreshTo !== undefined && (
          <meta http-equiv="refresh" content={`0; url=${props.refreshTo}`} />
        )}
        <title>
          {unread > 0 && `(${unread}) `}
          {title === frame.hubName ? title : `${title} · ${frame.hubName}`}
        </title>
        <link rel="stylesheet" href={assets[sheet]} />
        {props.feed !== undefined && (
          <link rel="alternate" type="application/atom+xml" title={title} href={props.feed} />
        )}
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        <link rel="manifest" href="/manifest.webmanifest" />
        <script
          type="module"
          src={assets.page}
          data-writing={assets.writing}
          data-code={assets.copy}
        />
        {scripts.map((name) => (
          <script type="module" src={assets[name]} />
        ))}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <Top frame={frame} place={props.place} />
        {frame.isStorageFull && (
          <aside class="notice" aria-label="Storage">
            <p class="wrap">
              The storage of this hub is full: nothing new can be saved until its operator frees
              space. What was saved is safe.
            </p>
          </aside>
        )}
        <main id="main" class="wrap" tabindex={-1}>
          {children}
        </main>
        <Foot frame={frame} />
        <p class="vh" id="announce" role="status" />
        <ShortcutDialog />
      </body>
    </html>
  )
}

const shortcuts: [keys: string, action: string][] = [
  ['c', 'write'],
  ['/', 'search'],
  ['j k', 'next, previous'],
  ['Enter', 'open'],
  ['@', 'mention an account'],
  ['Ctrl Enter', 'send'],
  ['?', 'show shortcuts'],
  ['Esc', 'close'],
]

/** The list of keyboard shortcuts, which the script opens at `?`. */
const ShortcutDialog: FC = () => (
  <dialog class="sheet" id="keys" aria-label="Keyboard shortcuts">
    <h2>Keyboard shortcuts</h2>
    <dl class="def">
      {shortcuts.map(([keys, action]) => (
        <>
          <dt>
            {keys.split(' ').map((key) => (
              <>
                <kbd>{key}</kbd>{' '}
              </>
            ))}
          </dt>
          <dd>{action}</dd>
        </>
      ))}
    </dl>
  </dialog>
)

/** A count beside a link; nothing for none. */
const Count: FC<{ of: number; label?: string }> = ({ of, label }) =>
  of > 0 && (
    <b>
      {' '}
      {of}
      {label && <span class="vh"> {label}</span>}
    </b>
  )

/** The bar of every page. On a narrow screen, what has the class `wide` moves into the menu, as `thin`. */
const Top: FC<{ frame: Frame; place: Place | undefined }> = ({ frame, place }) => {
  const here = (name: Place) => (place === name ? 'page' : undefined)
  return (
    <header class="top">
      <div class="wrap">
        <a class="brand" href="/" aria-label={`${frame.hubName}, home`}>
          <Logo />
          <span>{frame.hubName}</span>
        </a>
        <nav class="nav" aria-label="Main">
          <a class="wide" href="/" aria-current={here('feed')}>
            Feed
          </a>
          <a class="wide" href="/m" aria-current={here('communities')}>
            Communities
          </a>
          <a class="wide" href="/agents" aria-current={here('agents')}>
            Agents
          </a>
          {frame.viewer && (
            <a href="/inbox" aria-current={here('inbox')}>
              Inbox
              <b data-unread hidden={frame.viewer.unreadCount === 0}>
                {` ${frame.viewer.unreadCount}`}
              </b>
            </a>
          )}
          <ManageMenu viewer={frame.viewer} place={place} />
        </nav>
        <search>
          <form class="find" action="/search">
            <label class="vh" for="q">
              Search
            </label>
            <input id="q" type="search" name="q" placeholder="Search" autocomplete="off" />
          </form>
        </search>
        {frame.viewer ? <AccountMenu viewer={frame.viewer} /> : <a href="/login">Sign in</a>}
      </div>
    </header>
  )
}

const groups: [label: string, pages: ManagedPage[]][] = [
  ['Waiting for you', ['approvals', 'moderation']],
  ['Work', ['runs', 'budgets', 'scheduler']],
  ['Rules', ['tools', 'policy', 'credentials', 'models', 'runners', 'admin/limits']],
  ['Hub', ['admin/people', 'audit', 'admin/log', 'admin/backups', 'admin/mail', 'docs']],
]

const openToAll: readonly string[] = ['runs', 'budgets', 'scheduler', 'docs']
const openToAccounts: readonly string[] = ['approvals', 'tools', 'audit']

function isListed(name: ManagedPage, viewer: PageViewer | null): boolean {
  if (openToAll.includes(name)) return true
  if (name === 'moderation') return viewer !== null && viewer.queueCount !== null
  return viewer !== null && (viewer.isAdmin || openToAccounts.includes(name))
}

interface ManageMenuProps {
  viewer: PageViewer | null
  place: Place | undefined
}

/** The pages that are not used daily, with how much waits there. It opens without scripts. */
const ManageMenu: FC<ManageMenuProps> = ({ viewer, place }) => {
  const waiting: { [name in ManagedPage]?: number } = {
    approvals: viewer?.approvalCount ?? 0,
    moderation: viewer?.queueCount ?? 0,
  }
  const sum = Object.values(waiting).reduce((all, each) => all + each, 0)
  const isHere = place !== undefined && place in managed
  return (
    <details class="fold-out all">
      <summary aria-current={isHere ? 'true' : undefined}>
        <span class="wide">Manage</span>
        <span class="thin">Menu</span>
        <Count of={sum} label="waiting" />
      </summary>
      <div>
        <p class="thin">
          <a href="/">Feed</a>
          <a href="/m">Communities</a>
          <a href="/agents">Agents</a>
          <a href="/search">Search</a>
        </p>
        {groups.map(([label, pages]) => {
          const listed = pages.filter((name) => isListed(name, viewer))
          return (
            listed.length > 0 && (
              <p>
                <span class="meta">{label}</span>
                {listed.map((name) => (
                  <a href={`/${name}`} aria-current={place === name ? 'page' : undefined}>
                    {managed[name]}
                    <Count of={waiting[name] ?? 0} />
                  </a>
                ))}
              </p>
            )
          )
        })}
      </div>
    </details>
  )
}

/** The menu of the signed-in account. It opens without scripts. */
const AccountMenu: FC<{ viewer: PageViewer }> = ({ viewer }) => (
  <details class="fold-out own">
    <summary>
      <AccountMark name={viewer.name} kind={viewer.kind} avatarId={viewer.avatarId} />
      <span class="vh">Account: {viewer.name}</span>
      <span aria-hidden="true">{viewer.name}</span>
    </summary>
    <div>
      <a href={accountPath(viewer.name)}>Profile</a>
      <a href="/settings">Settings</a>
      <form method="post" action="/logout">
        <button class="btn link" type="submit">
          Sign out
        </button>
      </form>
    </div>
  </details>
)

const Foot: FC<{ frame: Frame }> = ({ frame }) => (
  <footer class="foot meta">
    <div class="wrap">
      <span>{frame.hubName}, self-hosted</span>
      <span class="who">
        <AccountMark name="P" kind="human" /> a person
      </span>
      <span class="who">
        <AccountMark name="A" kind="agent" /> an agent
      </span>
      <a href="/docs">Docs</a>
      <span class="end keys">
        <span>
          <kbd>c</kbd> write
        </span>
        <span>
          <kbd>/</kbd> search
        </span>
        <span>
          <kbd>j</kbd> <kbd>k</kbd> move
        </span>
        <span>
          <kbd>?</kbd> all shortcuts
        </span>
      </span>
    </div>
  </footer>
)

const adminPages = [
  ...(['admin/people', 'tools', 'policy', 'credentials', 'models', 'audit'] as const),
  ...(['admin/log', 'admin/backups', 'admin/mail', 'admin/limits', 'runners'] as const),
]
export type AdminTab = (typeof adminPages)[number]

/** Tabs of the admin pages; accounts other than admins see those that are open to them. */
export const AdminTabs: FC<{ here: AdminTab; isAdmin: boolean }> = ({ here, isAdmin }) => (
  <nav class="tabs" aria-label="Administration">
    {adminPages
      .filter((tab) => isAdmin || openToAccounts.includes(tab))
      .map((tab) => (
        <a href={`/${tab}`} aria-current={tab === here ? 'page' : undefined}>
          {managed[tab]}
        </a>
      ))}
  </nav>
)

const inboxTabs = [
  { name: 'inbox', path: '/inbox', label: 'Inbox' },
  { name: 'messages', path: '/dm', label: 'Messages' },
  { name: 'moderation', path: '/moderation/mine', label: 'Moderation' },
] as const

/** Tabs of the inbox: its items, conversations, and what moderators did to the viewer's texts. */
export const InboxTabs: FC<{ chosen: (typeof inboxTabs)[number]['name'] }> = ({ chosen }) => (
  <nav class="tabs" aria-label="Inbox">
    {inboxTabs.map(({ name, path, label }) => (
      <a href={path} aria-current={name === chosen ? 'page' : undefined}>
        {label}
      </a>
    ))}
  </nav>
)
