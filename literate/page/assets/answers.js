// A question with several answers, on the page a list of boxes under its question, of which one is
// ticked; below each answer stands why it is right or wrong. Without a script the list is read as it
// is. With it the reader chooses, and is told why at once.

// All answers of a question are one group of radio buttons, so arrow keys go from one to the next.
let groups = 0;

/**
 * @param {Element} item
 * @param {string} group
 */
function answerOf(item, group) {
  /** @type {HTMLInputElement} */
  const box = item.querySelector(":scope > input, :scope > label > input");
  const reason = item.querySelector(":scope > ul");
  const isRight = box.checked;
  reason.remove();
  // What is left of the item is the answer itself; some engines put it in a label already.
  box.closest("label")?.replaceWith(...box.closest("label").childNodes);
  box.remove();

  const label = document.createElement("label");
  const choice = document.createElement("input");
  choice.type = "radio";
  choice.name = group;
  const text = document.createElement("span");
  text.append(...item.childNodes);
  label.append(choice, text);

  const because = document.createElement("div");
  // On paper nobody chooses: the right one is marked there from the start.
  because.className = isRight ? "because fits" : "because";
  because.append(...(reason.querySelector("li")?.childNodes ?? []));
  because.hidden = true;
  item.className = "answer";
  item.append(label, because);
  return { item, choice, because, isRight };
}

/**
 * A list of answers becomes a choice.
 *
 * @param {HTMLElement} list
 * @param {(isRight: boolean) => void} told is called with the first choice
 */
export function ask(list, told) {
  groups += 1;
  let isFirst = true;
  const question = list.parentElement.querySelector("summary").textContent;
  const answers = [...list.children].map((item) => answerOf(item, `question-${groups}`));
  list.className = "answers";
  list.setAttribute("role", "radiogroup");
  list.setAttribute("aria-label", question);

  // Said to those who don't see it: the reasons that were opened.
  const said = document.createElement("p");
  said.className = "visually-hidden";
  said.setAttribute("role", "status");
  list.after(said);

  for (const { item, choice, because, isRight } of answers) {
    // A list item in a group of radio buttons would be announced as a list of its own.
    item.setAttribute("role", "none");
    choice.addEventListener("change", () => {
      item.classList.add(isRight ? "right" : "wrong");
      because.hidden = false;
      if (isFirst) told(isRight);
      isFirst = false;
      said.textContent = `${isRight ? "Right." : "Not this one."} ${because.textContent}`;
    });
  }
}
