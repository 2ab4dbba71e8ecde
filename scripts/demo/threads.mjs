// What the invented team wrote in its month, oldest day first, and what its agents did and answered.

/**
 * @typedef {import('./model.mjs').Script} Script
 * @typedef {{ by: string, value: 'up' | 'down', note: string }} Rating
 * @typedef {{ by: string, text: string, agent?: string, answer?: Omit<Script, 'question'>, decide?: 'approve' | 'deny', rating?: Rating }} Comment
 * @typedef {Comment & { in: string, title: string, comments?: Comment[], votes?: string[] }} Post
 * @typedef {{ note: string, answer: Omit<Script, 'question'>, votes: string[] }} Morning
 * @typedef {{ ago: number, morning?: Morning | undefined, posts: Post[] }} Day
 */

/**
 * @param {string} text
 * @param {Script['tokens']} tokens
 * @param {NonNullable<import('./model.mjs').Turn['calls']>[]} calls
 */
export const answer = (text, tokens, ...calls) => ({
  turns: [...calls.map((each) => ({ calls: each })), { text }],
  tokens,
})

/** @param {string} query */
export const search = (query) => [{ name: 'hub_search', arguments: { query } }]

/** @param {string} fact */
const remember = (fact) => [{ name: 'memory_remember_fact', arguments: { fact } }]

/**
 * @param {string} path
 * @param {string} content
 */
const write = (path, content) => [{ name: 'workspace_write_file', arguments: { path, content } }]

/** @type {Day[]} */
export const threads = [
  {
    ago: 27,
    posts: [
      {
        in: 'boats',
        by: 'ben',
        title: 'Heron needs a new bow thruster',
        text: 'The bow thruster of Heron failed twice this week. The yard offers a repair for 4,100 or a new one for 9,800. Heron stays on the short route until we decide.',
        votes: ['mira', 'anouk', 'tomas'],
        comments: [
          {
            by: 'anouk',
            text: 'A repair lasts one season, says the yard. I would rather pay once.',
          },
          { by: 'mira', text: 'Then no new signs this year, fine with me.' },
          {
            by: 'ben',
            text: 'Decided: a new one, ordered today, fitted in the second week of next month.',
          },
        ],
      },
    ],
  },
  {
    ago: 25,
    posts: [
      {
        in: 'timetable',
        by: 'anouk',
        title: 'Winter timetable: which sailings do we drop?',
        text: 'Below 12 passengers on average: 06:10 from Quay, 21:40 from Island, both on weekdays. I propose to drop the 21:40 and keep the 06:10, which carries the school.',
        votes: ['ben', 'tomas'],
        comments: [
          {
            by: 'tomas',
            text: 'Three people wrote about the 21:40. Two of them work at the clinic, late shift.',
          },
          { by: 'ben', text: 'We could move it to 21:10. The crew is there anyway.' },
          {
            by: 'anouk',
            text: 'Decided: the last boat from Island leaves at 21:10 on weekdays from the first of next month.',
          },
        ],
      },
    ],
  },
  {
    ago: 23,
    posts: [
      {
        in: 'general',
        by: 'mira',
        title: 'Minutes of Monday',
        text: '@purser please keep minutes of our Monday meeting: thruster ordered (Ben), 21:10 boat announced by the 20th (Tomas), new map for the pier (Mira), ticket printer replaced (Anouk).',
        agent: 'purser',
        answer: answer(
          'Kept as `minutes/monday.md`:\n\n| what | who | until |\n| --- | --- | --- |\n| Bow thruster of Heron ordered | Ben | done |\n| Announce the 21:10 boat | Tomas | the 20th |\n| New map for the pier | Mira | open |\n| Replace the ticket printer | Anouk | open |\n\nTwo have no date. Shall I ask again on Friday?',
          310,
          write(
            'minutes/monday.md',
            '# Monday\n\n- Bow thruster of Heron ordered (Ben)\n- Announce the 21:10 boat by the 20th (Tomas)\n- New map for the pier (Mira)\n- Replace the ticket printer (Anouk)\n',
          ),
        ),
        votes: ['anouk', 'tomas'],
        comments: [
          {
            by: 'mira',
            text: 'Yes please, and the map is due at the end of the month.',
            agent: 'purser',
            answer: answer(
              'Noted: the map is due at the end of the month. Only the ticket printer has no date now; I will ask Anouk on Friday.',
              120,
              remember("The map for the pier is Mira's and due at the end of the month."),
            ),
          },
        ],
      },
    ],
  },
  {
    ago: 20,
    posts: [
      {
        in: 'passengers',
        by: 'tomas',
        title: 'What did we decide about the late boat?',
        text: '@lookout a nurse asks whether there is still a boat after her shift. What did we decide about the late boat from Island, and from when?',
        agent: 'lookout',
        answer: answer(
          'The last boat from Island will leave at **21:10** on weekdays, instead of 21:40, from the first of next month. Anouk wrote in m/timetable:\n\n> Decided: the last boat from Island leaves at 21:10 on weekdays from the first of next month.\n\nUntil then the 21:40 sails. Nothing was said about weekends.',
          260,
          search('late boat Island 21:40'),
          remember(
            'From the first of next month the last weekday boat from Island leaves at 21:10 instead of 21:40.',
          ),
        ),
        votes: ['mira', 'ben', 'anouk'],
        rating: { by: 'tomas', value: 'up', note: 'The decision, who made it, and what is open.' },
        comments: [
          {
            by: 'tomas',
            text: 'And on Sundays?',
            agent: 'lookout',
            answer: answer(
              'I found no decision about Sundays: the thread on the winter timetable speaks of weekdays only. Anouk would know.',
              95,
              search('winter timetable Sunday'),
            ),
          },
          { by: 'anouk', text: '@tomas Sundays stay as they are.' },
        ],
      },
    ],
  },
  {
    ago: 17,
    posts: [
      {
        in: 'timetable',
        by: 'anouk',
        title: 'Ticket machine gives change in the wrong currency',
        text: 'The machine at Quay thinks it is abroad since the update. Switched off for now, Tomas sells by hand.',
        comments: [
          { by: 'tomas', text: 'I ran out of small coins at noon.' },
          { by: 'anouk', text: 'It was the locale of the new image. Fixed, and it is on again.' },
        ],
        votes: ['tomas'],
      },
    ],
  },
  {
    ago: 13,
    posts: [
      {
        in: 'boats',
        by: 'ben',
        title: 'When did we last change the oil of Heron and Gull?',
        text: '@lookout when did we last change the oil of Heron and Gull? The inspector comes on Thursday.',
        agent: 'lookout',
        answer: answer(
          'I cannot tell. I searched for oil, Heron, Gull and service: the hub has a thread about the bow thruster of Heron, and nothing about oil. If there is a log on paper, a picture of the page in this thread would do for next time.',
          190,
          [...search('Heron oil change'), ...search('Gull oil service')],
        ),
        comments: [
          {
            by: 'ben',
            text: '@anouk paper it is. Heron in spring, Gull in summer. I post it here from now on.',
          },
          {
            by: 'ben',
            text: '@purser keep a list of oil changes: Heron 14 April, Gull 2 July.',
            agent: 'purser',
            answer: answer(
              'The list is `boats/oil.md`, with Heron on 14 April and Gull on 2 July. Tell me about the next change in any thread.',
              130,
              write(
                'boats/oil.md',
                '| boat | oil changed |\n| --- | --- |\n| Heron | 14 April |\n| Gull | 2 July |\n',
              ),
            ),
          },
        ],
        votes: ['anouk', 'mira'],
      },
    ],
  },
  {
    ago: 9,
    posts: [
      {
        in: 'general',
        by: 'mira',
        title: 'Three drafts of the pier map',
        text: 'A: north up. B: sea up, as you stand on the pier. C: B with walking times. I lean to C. Votes?',
        comments: [
          { by: 'tomas', text: 'C. Everybody asks how far the clinic is.' },
          { by: 'ben', text: 'C.' },
          { by: 'anouk', text: 'C, if the times are for people with luggage.' },
          {
            by: 'mira',
            text: '@lookout which walking times did people ask for in m/passengers?',
            agent: 'lookout',
            answer: answer(
              'In the morning summaries of the last weeks: the **clinic** (most of all), the **school**, the **camping site** and the **bus stop**. Nobody asked about the harbour office, which draft B shows.',
              210,
              search('how far walk clinic school camping'),
            ),
          },
        ],
        votes: ['tomas', 'ben', 'anouk'],
      },
    ],
  },
  {
    ago: 6,
    posts: [
      {
        in: 'crew',
        by: 'ben',
        title: 'Jan is ill until Thursday',
        text: 'I take his early boats. @anouk can you take Wednesday evening?',
        comments: [{ by: 'anouk', text: 'Yes. Tell him to stay in bed.' }],
      },
    ],
  },
  {
    ago: 5,
    posts: [
      {
        in: 'boats',
        by: 'ben',
        title: 'Storm on Friday: plan',
        text: 'Gusts of 9 from noon. Heron stays in, Gull sails until 11:30. @purser write a notice for the pier and the website from this, two sentences.',
        agent: 'purser',
        answer: answer(
          '> On Friday boats sail until 11:30 only, because of the storm. We will say here and at the pier when they sail again.\n\nKept as `notices/storm.md`.',
          110,
          write(
            'notices/storm.md',
            'On Friday boats sail until 11:30 only, because of the storm. We will say here and at the pier when they sail again.\n',
          ),
        ),
        comments: [{ by: 'tomas', text: '@ben printed, and on the website.' }],
        votes: ['tomas', 'mira', 'anouk'],
      },
    ],
  },
  {
    ago: 2,
    posts: [
      {
        in: 'general',
        by: 'tomas',
        title: 'The storm notice can go',
        text: '@purser the storm is over: delete the notice file notices/storm.md, please.',
        agent: 'purser',
        answer: answer(
          'Deleted `notices/storm.md`. The printed one at the pier may still be up.',
          60,
          [{ name: 'workspace_delete_file', arguments: { path: 'notices/storm.md' } }],
        ),
        decide: 'approve',
        comments: [{ by: 'tomas', text: '@ben taken down.' }],
      },
    ],
  },
  {
    ago: 0,
    posts: [
      {
        in: 'boats',
        by: 'ben',
        title: 'Heron has its thruster',
        text: 'Fitted this morning, trial at noon. It pushes like a new one, because it is. Back on the long route from tomorrow.',
        votes: ['anouk', 'mira', 'tomas'],
      },
      {
        in: 'timetable',
        by: 'anouk',
        title: 'Which sailing of last week was the emptiest?',
        text: '@lookout which sailing of last week was the emptiest?',
        comments: [
          {
            by: 'tomas',
            text: '@anouk it says your budget for questions is used up. I have the counts on paper: the 06:10 on Tuesday.',
          },
        ],
      },
      {
        in: 'general',
        by: 'mira',
        title: 'Old minutes',
        text: '@purser the minutes of Monday are done, all four points. Delete the file minutes/monday.md.',
        agent: 'purser',
        answer: answer('Deleted `minutes/monday.md`.', 40, [
          { name: 'workspace_delete_file', arguments: { path: 'minutes/monday.md' } },
        ]),
      },
    ],
  },
]
