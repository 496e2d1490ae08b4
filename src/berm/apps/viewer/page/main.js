// The page: makes the parts and connects them; each part is a module of its own.

import { Banner } from "./banner.js";
import { Connection, socketAddress } from "./connection.js";
import { byId } from "./dom.js";
import { Input } from "./input.js";
import { KeysPanel } from "./keys_panel.js";
import { Legend } from "./legend.js";
import { Look } from "./look.js";
import { PageKeys } from "./page_keys.js";
import { Panel } from "./panel.js";
import { Picking } from "./picking.js";
import { Plots } from "./plots.js";
import { showScale } from "./scale.js";
import { loadShading } from "./shading.js";
import { StatusLine } from "./status.js";
import { Transport } from "./transport.js";
import { View } from "./view.js";

const banner = new Banner();
try {
  start(await loadShading());
} catch (error) {
  banner.set("graphics", { title: "The view cannot start", text: error.message });
  throw error;
}

function start(shading) {
  const connection = new Connection(socketAddress());
  const view = new View(byId("canvas"), shading);
  const status = new StatusLine(connection);
  const legend = new Legend(byId("legend"), shading);
  const plots = new Plots(connection);
  const picking = new Picking(byId("picked"), view, connection);
  const transport = new Transport(connection, () => panel.pending());
  const panel = new Panel(byId("panel"), connection, {
    colour: (by) => connection.send("colour", { by }),
    hold: (on) => {
      legend.held = on;
    },
    reset: () => transport.reset(),
  });
  const look = new Look((name) => {
    shading.setLook(name);
    view.invalidate();
    plots.drawSoon();
  });
  const page = new PageKeys({ view, transport, look, plots });
  const input = new Input(connection, page.shortcuts);
  const keys = new KeysPanel(page.list);
  page.keys = keys;

  let stageVersion = null;
  let shownScene = null;
  let newest = null;

  // A message that has not what it should have must not end the page, nor stop the frames.
  const on = (type, run) =>
    connection.addEventListener(type, ({ detail }) => {
      try {
        run(detail);
      } catch (error) {
        console.error(error);
        banner.set("refused", { title: "Not understood", text: `${type}: ${error.message}` });
        if (type === "frame") connection.send("ack", { seq: detail.header.seq });
      }
    });
  on("open", () => banner.clear("lost"));
  on("lost", ({ reason }) => {
    status.state("disconnected");
    const text = reason || "The simulation may have ended. Trying again …";
    banner.set("lost", {
      title: "Connection lost",
      text,
      action: "Try now",
      run: () => connection.hurry(),
    });
  });
  on("trouble", ({ message }) => banner.set("refused", { title: "Not understood", text: message }));
  on("error", ({ message }) => banner.set("refused", { title: "Not done", text: message }));
  on("hello", (hello) => {
    plots.scene = hello.scene || "berm";
    for (const part of [status, transport, panel, input, keys, picking]) part.hello(hello);
    page.scene = plots.scene;
    stageVersion = null;
  });
  on("stage", (stage) => {
    stageVersion = stage.version;
    view.setStage(stage);
    legend.setStage(stage);
    if (shownScene !== page.scene) view.frameAll(true); // who comes back keeps the point of view
    shownScene = page.scene;
  });
  on("status", (told) => {
    status.status(told);
    transport.status(told);
    panel.lock(transport.playback !== true && told.steering === false);
    if (told.error) banner.set("failed", { title: "The simulation failed", text: told.error });
    else banner.clear("failed");
  });
  on("parameters", (message) => panel.parameters(message));
  on("plots", (message) => plots.update(message));
  on("picked", (message) => picking.picked(message));
  on("frame", ({ header, arrays }) => {
    if (header.stream !== "moment") {
      if (view.surfaces.update(header, arrays)) view.invalidate(true);
      return;
    }
    if (header.stage !== stageVersion) {
      connection.send("ack", { seq: header.seq }); // of another stage: the right one follows
      return;
    }
    newest = header;
    view.setFrame(header, arrays);
    view.grains.setRange(...legend.update(header, view.grains.materialsSeen));
    status.time(header.time);
    transport.frame(header);
  });
  view.addEventListener("drawn", () => {
    showScale(view.pixelsPerMetre(), view.bodies.hasGround ? view.bodies.ground.gridStep.value : 0);
    if (newest) connection.send("ack", { seq: newest.seq }); // now there is time for the next one
    newest = null;
  });
  view.addEventListener("lost", () => {
    const text = "The browser took the graphics away. It may come back by itself; else reload.";
    banner.set("graphics", { title: "No picture", text });
  });
  view.addEventListener("restored", () => banner.clear("graphics"));
  connection.connect();
  window.berm = { connection, view, plots, legend, panel }; // for tests, and for the curious
}
